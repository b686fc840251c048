//! Many small products in one launch: row-major matrices, one behind the other, and one matrix for
//! all of them.
//!
//! `cargo run --release -p warpladder --example batch`

use warpladder::gpu::{Error, Gpu, Layout};

fn main() -> Result<(), Error> {
    let gpu = Gpu::new_or_emulated();
    let (count, points) = (500, 8);
    // Rotations by growing angles, each applied to the same 8 points, which are columns.
    let rotation = |index| {
        let (sin, cos) = (index as f32 * 0.01).sin_cos();
        [cos, -sin, sin, cos]
    };
    let rotations: Vec<f32> = (0..count).flat_map(rotation).collect();
    let corners: Vec<f32> = (0..2 * points).map(|i| (i % 5) as f32 - 2.0).collect();

    let (a, b) = (gpu.upload(&rotations)?, gpu.upload(&corners)?);
    let mut c = gpu.upload(&vec![f32::NAN; count * 2 * points])?;
    let of_a = Layout::row_major(2, 2).batched(count, 4);
    let of_b = Layout::row_major(2, points);
    let of_c = Layout::row_major(2, points).batched(count, 2 * points);
    let (a, b) = (a.matrix(of_a)?, b.matrix(of_b)?);
    gpu.gemm(1.0, a, b, 0.0, c.matrix_mut(of_c)?)?;

    let turned = c.download()?;
    let [cos, minus_sin, ..] = rotation(count - 1);
    let expected = cos * corners[0] + minus_sin * corners[points];
    let found = turned[(count - 1) * 2 * points];
    println!(
        "{}: {count} rotations; the last one's first point is at x = {found}, expected {expected}",
        gpu.name()
    );
    assert!((found - expected).abs() < 1e-5);
    Ok(())
}

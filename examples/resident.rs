//! Matrices that stay on the device: powers of a matrix, without copies between the steps.
//!
//! `cargo run --release -p warpladder --example resident`

use nalgebra::DMatrix;
use warpladder::gpu::{Error, Gpu};

fn main() -> Result<(), Error> {
    let gpu = Gpu::new_or_emulated();
    // The steps of a walk on a ring: with equal chances one to the left, one to the right, or none.
    let extent = 60;
    let step = DMatrix::from_fn(extent, extent, |i, j| {
        let apart = (i + extent - j) % extent;
        if [0, 1, extent - 1].contains(&apart) {
            1.0 / 3.0
        } else {
            0.0_f64
        }
    });
    let mut walk = gpu.upload_matrix(&step)?;
    let mut longer = gpu.zeros(extent, extent)?;
    for _ in 0..12 {
        // longer ← walk · walk. It is started, not waited for.
        gpu.gemm(1.0, walk.view(), walk.view(), 0.0, longer.view_mut())?;
        std::mem::swap(&mut walk, &mut longer);
    }
    let chances = walk.download()?;
    let (least, most) = (chances.min(), chances.max());
    println!(
        "{} after 4096 steps: chances from {least:.6} to {most:.6}",
        gpu.name()
    );
    assert!((most - 1.0 / 60.0).abs() < 1e-3 && (chances.column(0).sum() - 1.0).abs() < 1e-9);
    Ok(())
}

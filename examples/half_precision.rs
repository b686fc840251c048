//! Matrices of bfloat16, multiplied by tensor cores where there are some: products are exact, sums
//! are of `f32`.
//!
//! `cargo run --release -p warpladder --example half_precision`

use half::bf16;
use nalgebra::DMatrix;
use warpladder::gpu::{Error, Gpu};

fn main() -> Result<(), Error> {
    let gpu = Gpu::new_or_emulated();
    let extent = if gpu.is_emulated() { 96 } else { 4096 };
    let value = |i: usize, j: usize| bf16::from_f32((i * 7 + j * 3) as f32 % 11.0 - 5.0);
    let a = DMatrix::from_fn(extent, extent, value);
    let b = DMatrix::from_fn(extent, extent, |i, j| value(j, i + 2));
    let c: DMatrix<f32> = gpu.matmul(&a, &b)?;

    let row = a.row(extent - 1).map(bf16::to_f32);
    let expected = (row * b.column(0).map(bf16::to_f32))[(0, 0)];
    let found = c[(extent - 1, 0)];
    println!(
        "{}: the last element of the first column is {found}, nalgebra's is {expected}",
        gpu.name()
    );
    // These are sums of small integers: there is nothing to round.
    assert_eq!(found, expected);

    // C in 16 bits: the same accumulators, each rounded once.
    let rounded: DMatrix<bf16> = gpu.matmul(&a, &b)?;
    assert_eq!(rounded[(extent - 1, 0)], bf16::from_f32(found));
    Ok(())
}

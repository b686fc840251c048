//! The product of two matrices, and how long it took from the start of the program.
//!
//! `cargo run --release -p warpladder --example first_product -- 4096`

use nalgebra::DMatrix;
use std::thread;
use std::time::Instant;
use warpladder::gpu::{Error, Gpu};

fn main() -> Result<(), Error> {
    let start = Instant::now();
    let argument = std::env::args().nth(1);
    let extent = argument.and_then(|arg| arg.parse().ok()).unwrap_or(512);

    // The driver takes a while to start.
    let (gpu, [a, b]) = thread::scope(|scope| {
        let matrices = scope.spawn(|| {
            let a = DMatrix::from_fn(extent, extent, |i, j| ((i + 2 * j) % 7) as f32 - 3.0);
            let b = DMatrix::from_fn(extent, extent, |i, j| ((3 * i + j) % 5) as f32 - 2.0);
            [a, b]
        });
        (Gpu::new_or_emulated(), matrices.join().expect("no panic"))
    });
    println!(
        "{:>8.3} s  two matrices of {extent} x {extent}, and {}",
        start.elapsed().as_secs_f64(),
        gpu.name()
    );

    let c = gpu.matmul(&a, &b)?;
    println!("{:>8.3} s  their product", start.elapsed().as_secs_f64());

    let expected = (a.row(0) * b.column(0))[(0, 0)];
    println!(
        "its first element is {}, nalgebra's is {expected}",
        c[(0, 0)]
    );
    Ok(())
}

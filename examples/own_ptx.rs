//! A kernel of your own, from PTX text, on the GPU or on the emulator: launched, checked and timed.
//!
//! `cargo run --release -p warpladder --example own_ptx`

use warpladder::gpu::{Error, Gpu, Grid};

fn main() -> Result<(), Error> {
    let gpu = Gpu::new_or_emulated();
    let axpy = gpu.module(include_str!("axpy.ptx"))?.kernel("axpy")?;

    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let expected: Vec<f32> = x.iter().map(|x| 0.5 * x + 1.0).collect();
    let (x, mut y) = (gpu.upload(&x)?, gpu.upload(&[1.0_f32; 1000])?);
    let grid = Grid::covering(1000, 256);
    // The types of the arguments are compared with the parameters of the PTX entry.
    // SAFETY: axpy reads n elements of x and writes as many of y: both have 1000.
    unsafe { gpu.launch(&axpy, grid, (&x, &mut y, 0.5_f32, 1000_u32)) }?;

    let verdict = y.check(&expected, 1e-6)?;
    println!("{}: error {:e}", gpu.name(), verdict.error);
    assert!(verdict.ok, "{:?}", verdict.complaint);

    // SAFETY: the same arguments.
    let timing = unsafe { gpu.time(&axpy, grid, (&x, &mut y, 0.5_f32, 1000_u32), 20) }?;
    let (median, half) = (timing.summary.median, timing.quartiles);
    println!(
        "{median:.4} ms, half of them {:.4} to {:.4}",
        half.low, half.high
    );
    Ok(())
}

//! Runs the kernels of `kernels/` on a GPU, or on the emulator where there is none.

use warpladder::gpu::{Error, Gpu, Grid};

/// The kernels as PTX, which build.rs writes.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// Threads of a block.
const THREADS: u32 = 256;

/// a · x + y, on a device.
///
/// # Errors
/// What the device refuses.
pub fn axpy(gpu: &Gpu, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>, Error> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let n = u32::try_from(x.len()).expect("at most 2^32 - 1 elements");
    let grid = Grid::covering(x.len(), THREADS);
    let kernel = gpu.module(PTX)?.kernel("axpy")?;
    let (x, mut y) = (gpu.upload(x)?, gpu.upload(y)?);
    // SAFETY: the kernel reads n elements of x and of y, and writes those of y: both have n.
    unsafe { gpu.launch(&kernel, grid, (&x, &mut y, a, n)) }?;
    y.download()
}

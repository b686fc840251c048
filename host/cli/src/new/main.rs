use @crate@::axpy;
use warpladder::gpu::{Error, Gpu};

fn main() -> Result<(), Error> {
    let gpu = Gpu::new_or_emulated();
    let y = axpy(&gpu, 0.5, &[2.0, 4.0, 6.0], &[1.0, 1.0, 1.0])?;
    println!("on {}: {y:?}", gpu.name());
    Ok(())
}

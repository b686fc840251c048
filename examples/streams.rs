//! Two products beside each other, on two streams, and how long they took: alone and together.
//!
//! `cargo run --release -p warpladder --example streams`

use warpladder::gpu::{Error, Gpu};

fn main() -> Result<(), Error> {
    let gpu = Gpu::new_or_emulated();
    let other = gpu.stream()?;
    // Small enough that one product leaves most of a GPU idle.
    let a = gpu.zeros::<f32>(256, 256)?;
    let (mut b, mut c) = (gpu.zeros(256, 256)?, gpu.zeros(256, 256)?);
    let (start, middle, stop) = (gpu.event()?, gpu.event()?, gpu.event()?);
    for round in ["first, with compilation", "again"] {
        gpu.record(&start)?;
        gpu.gemm(1.0, a.view(), a.view(), 0.0, b.view_mut())?;
        gpu.record(&middle)?;
        other.wait(&middle)?;
        other.gemm(1.0, a.view(), a.view(), 0.0, c.view_mut())?;
        gpu.gemm(1.0, a.view(), a.view(), 0.0, b.view_mut())?;
        other.record(&stop)?;
        gpu.wait(&stop)?; // until both products are there
        gpu.record(&stop)?;
        let alone = middle.elapsed_ms_since(&start)?;
        let together = stop.elapsed_ms_since(&middle)?;
        println!(
            "{}, {round}: one product {alone:.4} ms, two {together:.4} ms",
            gpu.name()
        );
    }
    Ok(())
}

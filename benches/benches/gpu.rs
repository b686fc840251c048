//! Kernels on the GPU, between CUDA events.

use criterion::Criterion;
use warpladder::engine::EngineChoice;
use warpladder_lab::engine;

fn main() {
    let engine = match engine::open(EngineChoice::Gpu) {
        Ok((engine, _)) => engine,
        Err(reason) => {
            println!("benchmarks on a GPU left out: {reason}");
            return;
        }
    };
    println!("on {}", engine.device_name());
    let extent = if benches::once() { 256 } else { 4096 };
    let mut criterion = Criterion::default().configure_from_args();
    benches::kernels(&mut criterion, &*engine, benches::cube(extent));
    criterion.final_summary();
}

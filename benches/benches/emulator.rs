//! Kernels on the emulator, in wall-clock time.

use criterion::Criterion;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;

fn main() {
    let engine = EmulatorEngine::new();
    println!("on {}", engine.device_name());
    // The smallest cube that every rung takes which needs multiples.
    let extent = if benches::once() { 128 } else { 256 };
    let mut criterion = Criterion::default().configure_from_args();
    benches::kernels(&mut criterion, &engine, benches::cube(extent));
    criterion.final_summary();
}

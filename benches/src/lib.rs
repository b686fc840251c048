//! Benchmarks over the catalogue, with criterion.
//!
//! ```text
//! cargo bench -p warpladder-benches                            everything that runs here
//! cargo bench -p warpladder-benches --bench gpu -- tiled       kernels of that name on the GPU
//! cargo bench -p warpladder-benches -- --save-baseline before  … and later: --baseline before
//! cargo test  -p warpladder-benches --benches                  each once, at a small size
//! ```
//!
//! | benchmark | measures |
//! |---|---|
//! | `gpu` | kernels on the GPU, between CUDA events; left out where there is none |
//! | `emulator` | the same kernels on the emulator, in wall-clock time |
//! | `launch` | what a launch costs the host, through the library and bare; left out where there is no GPU |
//! | `host` | the products on the CPU; making problems; checking outputs; planning GEMMs |
//!
//! Throughput is in floating-point operations per second (criterion calls them elements) where a
//! kernel does at least one for each byte that it must move, else in bytes. Every kernel's output
//! is checked before it is timed, also where a filter then leaves it out.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use half::f16;
use std::collections::HashMap;
use std::time::Duration;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder_lab::catalogue::{self, Family, Implementation, Rung};
use warpladder_lab::problem::{Operation, Problem, Shape};
use warpladder_lab::run::{LoadedRung, check_shape, preflight};

/// Seed of all inputs.
pub const SEED: u64 = 1;

/// Whether criterion runs everything once, as under `cargo test`, and measures nothing.
pub fn once() -> bool {
    let has = |flag: &str| std::env::args().any(|arg| arg == flag);
    has("--test") || !has("--bench")
}

/// A cube of this extent.
pub fn cube(extent: u32) -> Shape {
    Shape {
        m: extent,
        n: extent,
        k: extent,
    }
}

/// Benchmarks every kernel that takes this size, one group for each family.
///
/// # Panics
/// Where a kernel fails or gives a wrong output: there is no use in timing it.
pub fn kernels(criterion: &mut Criterion, engine: &dyn Engine, shape: Shape) {
    for family in Family::ALL {
        let mut group = criterion.benchmark_group(format!("{}/{family}", engine.kind()));
        configure(&mut group);
        kernels_of::<f16>(&mut group, engine, family, shape);
        kernels_of::<f32>(&mut group, engine, family, shape);
        kernels_of::<f64>(&mut group, engine, family, shape);
        group.finish();
    }
}

/// Few and equally long samples: a kernel's time varies little, and there are many kernels.
pub fn configure(group: &mut BenchmarkGroup<'_, WallTime>) {
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
}

/// Benchmarks the kernels of one family and one element type.
fn kernels_of<T: Element>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    engine: &dyn Engine,
    family: Family,
    shape: Shape,
) {
    let mut problems: HashMap<Operation, Box<dyn Problem<T>>> = HashMap::new();
    let rungs = catalogue::rungs().filter(|rung| {
        rung.family == family
            && rung.element == T::TYPE
            && !matches!(rung.implementation, Implementation::Cpu(_))
            && check_shape(rung, shape).is_ok()
    });
    for rung in rungs {
        let make = || rung.operation.problem(shape, SEED);
        let problem = &**problems.entry(rung.operation).or_insert_with(make);
        let loaded = preflight(engine, rung, shape)
            .and_then(|admitted| LoadedRung::new(engine, &admitted, problem));
        let loaded = match loaded {
            Ok(loaded) => loaded,
            // Such as a kernel for newer devices.
            Err(error) => {
                println!("{} left out: {error}", rung.name);
                continue;
            }
        };
        let (_, verdict) = loaded
            .checked_output(problem)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(verdict.ok, "{} is wrong: {verdict:?}", rung.name);
        group.throughput(work(rung, shape));
        group.bench_function(rung.name, |bencher| {
            bencher.iter_custom(|rounds| {
                let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
                let milliseconds = loaded
                    .time(rounds)
                    .unwrap_or_else(|error| panic!("{error}"));
                Duration::from_secs_f64(milliseconds * 1e-3)
            });
        });
    }
}

/// What a rung does in one launch.
fn work(rung: &Rung, shape: Shape) -> Throughput {
    let flops = rung.operation.flops(shape);
    let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
    if flops >= bytes {
        Throughput::Elements(flops as u64)
    } else {
        Throughput::Bytes(bytes as u64)
    }
}

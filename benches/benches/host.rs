//! The host's own work: products on the CPU, making problems, checking outputs, planning GEMMs.

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
};
use std::collections::HashSet;
use std::hint::black_box;
use std::mem::discriminant;
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, Description, DeviceLimits, GemmInput, HOPPER, Tf32};
use warpladder_lab::catalogue::{self, Implementation};
use warpladder_lab::problem::{Operation, Shape};

fn shape() -> Shape {
    benches::cube(if benches::once() { 32 } else { 256 })
}

/// Products on the CPU.
fn products(criterion: &mut Criterion) {
    let shape = shape();
    let mut group = criterion.benchmark_group("cpu");
    benches::configure(&mut group);
    for rung in catalogue::rungs() {
        let Implementation::Cpu(product) = rung.implementation else {
            continue;
        };
        let problem = rung.operation.problem::<f32>(shape, benches::SEED);
        let [a, b] = problem.inputs() else {
            unreachable!("a product has two inputs");
        };
        let mut c = vec![0.0; problem.output_len()];
        let size = [shape.m, shape.n, shape.k].map(|extent| extent as usize);
        group.throughput(Throughput::Elements(rung.operation.flops(shape) as u64));
        group.bench_function(rung.name, |bencher| {
            bencher.iter(|| product(black_box(a), black_box(b), &mut c, size));
        });
    }
}

/// One operation of each kind, with the name of its kind.
fn operations() -> impl Iterator<Item = (String, Operation)> {
    let mut seen = HashSet::new();
    let operations = catalogue::rungs().map(|rung| rung.operation);
    operations
        .filter(move |operation| seen.insert(discriminant(operation)))
        .map(|operation| {
            let text = format!("{operation:?}");
            let kind = text.split(' ').next().unwrap_or_default();
            (kind.to_owned(), operation)
        })
}

/// Making the problem of each operation: drawing its inputs.
fn problems(criterion: &mut Criterion) {
    let shape = shape();
    let mut group = criterion.benchmark_group("problem");
    benches::configure(&mut group);
    for (kind, operation) in operations() {
        let (inputs, _) = operation.elements(shape);
        group.throughput(Throughput::Elements(inputs as u64));
        group.bench_function(kind, |bencher| {
            bencher.iter(|| operation.problem::<f32>(black_box(shape), benches::SEED));
        });
    }
}

/// Checking an output: the first time, when the right answer is computed, and again.
fn checks(criterion: &mut Criterion) {
    let shape = shape();
    let mut group = criterion.benchmark_group("check");
    benches::configure(&mut group);
    for (kind, operation) in operations() {
        let make = || operation.problem::<f32>(shape, benches::SEED);
        let problem = make();
        // A check looks at every element, right or wrong.
        let output = vec![0.0; problem.output_len()];
        group.throughput(Throughput::Elements(output.len() as u64));
        group.bench_function(format!("{kind}/first"), |bencher| {
            let check =
                |problem: Box<dyn warpladder_lab::problem::Problem<f32>>| problem.check(&output);
            bencher.iter_batched(make, check, BatchSize::PerIteration);
        });
        group.bench_function(format!("{kind}/again"), |bencher| {
            bencher.iter(|| problem.check(black_box(&output)));
        });
    }
}

/// Sizes whose extents are multiples of 8 from 16 to 8192, their logarithms evenly distributed.
fn random_sizes(count: usize) -> Vec<[u32; 3]> {
    let mut state = benches::SEED;
    let mut extent = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 40) as f64 / f64::from(1 << 24);
        (2f64.powf(4.0 + 9.0 * uniform) as u32).next_multiple_of(8)
    };
    (0..count).map(|_| [extent(), extent(), extent()]).collect()
}

/// Planning a GEMM of a new size on an H200, on the mean of random sizes.
fn plans(criterion: &mut Criterion) {
    fn bench<T: GemmInput>(group: &mut BenchmarkGroup<'_, WallTime>) {
        let sizes = random_sizes(if benches::once() { 2 } else { 400 });
        let device = DeviceLimits::new(132, HOPPER);
        group.throughput(Throughput::Elements(sizes.len() as u64));
        group.bench_function(T::NAME, |bencher| {
            bencher.iter(|| {
                for &extents in &sizes {
                    let product = Description::<T>::dense(black_box(extents), [false, true]);
                    black_box(gemm::plan(&product, device, &Choices::default())).unwrap();
                }
            });
        });
    }
    let mut group = criterion.benchmark_group("plan");
    benches::configure(&mut group);
    bench::<f32>(&mut group);
    bench::<f64>(&mut group);
    bench::<half::bf16>(&mut group);
    bench::<Tf32>(&mut group);
}

criterion_group!(host, products, problems, checks, plans);
criterion_main!(host);

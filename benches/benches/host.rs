//! The host's own work: products on the CPU, making problems, checking outputs.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::collections::HashSet;
use std::hint::black_box;
use std::mem::discriminant;
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

criterion_group!(host, products, problems, checks);
criterion_main!(host);

//! Every kernel of the catalogue, on the emulator, at sizes drawn from all that it takes; and
//! refused at all others.

use crate::common::is_named;
use crate::common::output::{self, Output};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestError, TestRunner};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::gemm::layout::Layout;
use warpladder::launch::{DevicePtr, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};
use warpladder_lab::catalogue::{self, Implementation, Precondition, Rung};
use warpladder_lab::problem::product::Product;
use warpladder_lab::problem::{Operation, Shape};
use warpladder_lab::run::{Problems, RunError, describe, preflight, preflight_with};

/// Extents at which kernels go wrong: one less and one more than a warp or a tile, and primes.
const AWKWARD: [u32; 12] = [1, 2, 31, 32, 33, 3, 7, 13, 17, 47, 61, 79];

/// Most multiply-adds of a random product, to bound the time; one tile is allowed to have more.
const VOLUME: u32 = 1 << 19;

/// The rungs that run on an engine.
fn kernels() -> impl Iterator<Item = &'static Rung> {
    let kernels =
        catalogue::rungs().filter(|rung| !matches!(rung.implementation, Implementation::Cpu(_)));
    kernels.filter(|rung| is_named(rung))
}

fn extent() -> impl Strategy<Value = u32> {
    prop_oneof![select(&AWKWARD[..]), 0..=80_u32]
}

/// Sizes that a rung takes.
fn sizes(rung: &Rung) -> BoxedStrategy<Shape> {
    let shape = |[m, n, k]: [u32; 3]| Shape { m, n, k };
    match (rung.implementation, rung.precondition) {
        // Those of every rung that it may choose.
        (Implementation::Dispatch(candidates), _) => {
            let sizes = candidates
                .iter()
                .map(|name| sizes(catalogue::find(name).unwrap()));
            proptest::strategy::Union::new(sizes).boxed()
        }
        (_, Precondition::Any | Precondition::MostRows(_) | Precondition::MostElements(_)) => {
            [extent(), extent(), extent()].prop_map(shape).boxed()
        }
        (_, Precondition::Multiples { m, n, k }) => {
            let multiples = |of: u32, most: u32| (0..=(most / of).max(1)).prop_map(move |i| i * of);
            (multiples(m, 256), multiples(n, 256))
                .prop_flat_map(move |(m, n)| {
                    let extents_k = multiples(k, (VOLUME / (m * n).max(1)).min(256));
                    (Just(m), Just(n), extents_k).prop_map(move |(m, n, k)| shape([m, n, k]))
                })
                .boxed()
        }
        (_, Precondition::Elements(multiple)) => {
            let divisors: Vec<u32> = (1..=multiple)
                .filter(|&m| multiple.is_multiple_of(m))
                .collect();
            (select(divisors), 0..=5_u32, extent())
                .prop_map(move |(m, times, k)| shape([m, multiple / m * times, k]))
                .boxed()
        }
    }
}

/// Runs `test` on `cases` values; the smallest that fails is the error.
fn cases<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> Result<(), TestError<S::Value>> {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config).run(strategy, test)
}

/// Whether the output of a kernel was right.
fn right(output: Result<Output, RunError>) -> Result<(), TestCaseError> {
    let (_, verdict) = output.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(verdict.ok, "{verdict:?}");
    Ok(())
}

/// Fails with the message of every rung that failed.
fn report(failures: impl Iterator<Item = String>) {
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_kernel_is_right_at_random_sizes() {
    let engine = EmulatorEngine::new();
    report(kernels().filter_map(|rung| {
        let of_any_size = rung.precondition == Precondition::Any;
        let inputs = (sizes(rung), any::<u64>());
        let outcome = cases(
            if of_any_size { 40 } else { 12 },
            &inputs,
            |(shape, seed)| right(output::of_rung(&engine, rung, shape, seed)),
        );
        outcome.err().map(|error| format!("{}: {error}", rung.name))
    }));
}

#[test]
fn column_major_kernels_are_right_at_random_leading_dimensions() {
    let engine = EmulatorEngine::new();
    let rungs = kernels().filter(|rung| rung.operation == Operation::ColumnMajorProduct);
    report(rungs.filter_map(|rung| {
        assert_eq!(rung.element, ElementType::F32);
        let inputs = (sizes(rung), [0..=9_usize, 0..=9, 0..=9], any::<u64>());
        let outcome = cases(8, &inputs, |(shape, padding, seed)| {
            let rows = [shape.m, shape.k, shape.m];
            let lds = std::array::from_fn(|i| rows[i] as usize + padding[i]);
            let problem = Product::<f32>::column_major(shape, lds, seed);
            let admitted = preflight(&engine, rung, shape);
            right(admitted.and_then(|of| output::of_problem(&engine, &of, &problem)))
        });
        outcome.err().map(|error| format!("{}: {error}", rung.name))
    }));
}

#[test]
fn matrix_vector_kernels_for_any_size_are_right_at_every_size() {
    let engine = EmulatorEngine::new();
    let told = |rung: &&Rung| matches!(rung.operation, Operation::MatVec { any: true, .. });
    let mut failures = Vec::new();
    for rung in kernels().filter(told) {
        for (rows, columns) in (4..=32).flat_map(|m| (4..=32).map(move |n| (m, n))) {
            let any = true;
            let operation = Operation::MatVec { rows, columns, any };
            // The library keeps rungs for as long as the program runs.
            let sized: &'static Rung = Box::leak(Box::new(Rung { operation, ..*rung }));
            // From no vector to more than a warp has lanes.
            let vectors = (7 * rows + 5 * columns) % 40;
            let shape = Shape {
                m: vectors,
                n: columns,
                k: 1,
            };
            if let Err(error) = right(output::of_rung(&engine, sized, shape, u64::from(rows))) {
                failures.push(format!("{} for {rows} x {columns}: {error}", rung.name));
            }
        }
    }
    report(failures.into_iter());
}

#[test]
fn products_of_any_layout_are_right_where_operands_are_transposed() {
    let engine = EmulatorEngine::new();
    report(
        kernels()
            .filter(|rung| rung.takes_any_layout())
            .filter_map(|rung| {
                let layouts = select(&[Layout::Nt, Layout::Tn, Layout::Tt][..]);
                let inputs = (sizes(rung), layouts, any::<u64>());
                let outcome = cases(12, &inputs, |(shape, layout, seed)| {
                    right(in_layout(&engine, rung, shape, layout, seed))
                });
                outcome.err().map(|error| format!("{}: {error}", rung.name))
            }),
    );
}

/// What a rung computes of operands that lie in this layout.
fn in_layout(
    engine: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    layout: Layout,
    seed: u64,
) -> Result<Output, RunError> {
    let admitted = preflight_with(engine, rung, shape, layout)?;
    output::of_admitted(engine, &admitted, seed)
}

#[test]
fn every_rung_is_right_at_awkward_sizes() {
    let engine = EmulatorEngine::new();
    let cubes = [1, 2, 31, 33, 127].map(|extent| [extent; 3]);
    let shapes = cubes.into_iter().chain([[1000, 17, 333]]);
    let mut failures = Vec::new();
    let mut checked = 0;
    for shape in shapes.map(|[m, n, k]| Shape { m, n, k }) {
        let taken = catalogue::rungs()
            .filter(|rung| is_named(rung) && rung.precondition.takes(rung.operation, shape));
        for rung in taken {
            checked += 1;
            let ok = match rung.implementation {
                Implementation::Cpu(_) => on_cpu(rung, shape),
                _ => right(output::of_rung(&engine, rung, shape, 1)),
            };
            if let Err(error) = ok {
                let size = describe(rung.operation, shape);
                failures.push(format!("{} at {size}: {error}", rung.name));
            }
        }
    }
    println!("{checked} outputs checked");
    report(failures.into_iter());
}

/// Whether a product on the host is right.
fn on_cpu(rung: &'static Rung, shape: Shape) -> Result<(), TestCaseError> {
    let admitted = preflight(&NoEngine, rung, shape);
    let record = admitted.and_then(|of| Problems::new(1).run(&NoEngine, &of, 1));
    let record = record.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(record.ok, "{:?}", record.complaint);
    Ok(())
}

#[test]
fn every_kernel_refuses_every_size_that_it_cannot_take() {
    let mut refused = 0;
    for rung in kernels() {
        for shape in refusals(rung) {
            refused += 1;
            match preflight(&NoEngine, rung, shape) {
                Err(RunError::Shape {
                    rung: named,
                    shape: size,
                    advice,
                    ..
                }) => {
                    assert_eq!(named, rung.name);
                    assert_eq!(size, describe(rung.operation, shape));
                    let other = advice.split([' ', ',']).find_map(catalogue::find);
                    assert!(
                        other.is_none_or(|other| other.precondition.takes(other.operation, shape)),
                        "{advice}"
                    );
                }
                other => panic!("{} at {shape:?}: {other:?}", rung.name),
            }
        }
    }
    assert!(refused > 0 || std::env::var_os("WARPLADDER_RUNGS").is_some());
}

/// Sizes that a rung cannot take: each extent in turn everything up to twice its multiple.
fn refusals(rung: &Rung) -> Vec<Shape> {
    let wrong =
        |multiple: u32| (1..2 * multiple).filter(move |extent| !extent.is_multiple_of(multiple));
    match rung.precondition {
        Precondition::Any => Vec::new(),
        Precondition::Multiples { m, n, k } => {
            let with_m = wrong(m).map(|m| Shape { m, n, k });
            let with_n = wrong(n).map(|n| Shape { m, n, k });
            let with_k = wrong(k).map(|k| Shape { m, n, k });
            let uses_k = rung.operation.uses_k();
            with_m
                .chain(with_n)
                .chain(with_k.filter(|_| uses_k))
                .collect()
        }
        Precondition::Elements(multiple) => {
            wrong(multiple).map(|n| Shape { m: 1, n, k: 1 }).collect()
        }
        Precondition::MostRows(most) => {
            let m = most.checked_add(1).expect("there are sizes of more rows");
            vec![Shape { m, n: 1, k: 1 }]
        }
        Precondition::MostElements(most) => {
            let n = u32::try_from(most).expect("two rows of these are more");
            vec![Shape { m: 2, n, k: 1 }]
        }
    }
}

/// An engine that must not be asked for anything but what plans depend on.
struct NoEngine;

impl Engine for NoEngine {
    fn kind(&self) -> EngineKind {
        unreachable!()
    }
    fn device_name(&self) -> &str {
        unreachable!()
    }
    fn compute_capability(&self) -> ComputeCapability {
        ComputeCapability::V9_0
    }
    fn multiprocessors(&self) -> u32 {
        1
    }
    fn free_memory(&self) -> Result<u64, EngineError> {
        unreachable!()
    }
    fn load(&self, _: &str, _: &str) -> Result<KernelId, EngineError> {
        unreachable!()
    }
    fn alloc(&self, _: usize) -> Result<DevicePtr, EngineError> {
        unreachable!()
    }
    fn free(&self, _: DevicePtr) {
        unreachable!()
    }
    fn upload(&self, _: DevicePtr, _: &[u8]) -> Result<(), EngineError> {
        unreachable!()
    }
    fn download(&self, _: &mut [u8], _: DevicePtr) -> Result<(), EngineError> {
        unreachable!()
    }
    fn tensor_map(&self, _: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
        unreachable!()
    }
    unsafe fn run(&self, _: &Launch<'_>) -> Result<(), EngineError> {
        unreachable!()
    }
    unsafe fn time(&self, _: &[Launch<'_>], _: u32) -> Result<f64, EngineError> {
        unreachable!()
    }
}

#[test]
fn a_size_of_0_is_an_empty_product() {
    let engine = EmulatorEngine::new();
    let mut problems = Problems::new(1);
    let mut is_empty = |rung: &'static Rung, [m, n, k]: [u32; 3]| {
        let admitted = preflight(&engine, rung, Shape { m, n, k }).unwrap();
        let record = problems.run(&engine, &admitted, 1).unwrap();
        assert!(record.ok, "{} at {m} x {n} x {k}", rung.name);
        assert_eq!(record.error, Some(0.0), "{} at {m} x {n} x {k}", rung.name);
    };
    for name in [
        "naive",
        "tiled_guarded_32",
        "wolfe_dispatch",
        "cpu_nalgebra",
    ] {
        for shape in [[0, 0, 0], [0, 3, 4], [3, 0, 4], [3, 4, 0]] {
            is_empty(catalogue::find(name).unwrap(), shape);
        }
    }
    for rung in catalogue::rungs() {
        is_empty(rung, [0, 0, 0]);
    }
}

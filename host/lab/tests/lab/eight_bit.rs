//! GEMM of 8-bit elements by every kernel of them and in every decomposition that the planner has
//! for it, on the emulator and, where there is one, on a GPU.

use crate::common::drawn::Drawn;
use crate::common::gemm::{LAYOUTS, RandomGemm};
use crate::common::gpu;
use half::{bf16, f16};
use std::collections::HashSet;
use warpladder::check;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::tuning::Choices;
use warpladder::gemm::{self, DeviceLimits, E4m3, E5m2, GemmInto};

/// Multiprocessors and sizes: tiles at edges, in waves, and split in all ways.
const CASES: [(u32, [u32; 3]); 3] = [(2, [131, 259, 65]), (5, [150, 70, 321]), (8, [70, 57, 900])];

/// How a number becomes an element, and what a sum of k products may be off by.
type Elements<T> = (fn(f64) -> T, fn(usize) -> f64);

/// Integers from -128 to 127; what is not to be read is -128.
const I8: Elements<i8> = (
    |value| {
        if value.is_nan() {
            i8::MIN
        } else {
            (value * 128.0) as i8
        }
    },
    // Sums are exact, and rounded to f32 once, before α and β.
    |k| check::product_tolerance::<f32>(k) * 128.0 * 128.0,
);

/// Integers from -7 to 7, whose sums f16 holds.
const SMALL: Elements<i8> = (
    |value| {
        if value.is_nan() {
            i8::MIN
        } else {
            (value * 8.0) as i8
        }
    },
    |k| check::product_tolerance::<f32>(k) * 8.0 * 8.0,
);

const E4M3: Elements<E4m3> = (
    |value| E4m3::from_f32(value as f32),
    check::float8_tolerance,
);

const E5M2: Elements<E5m2> = (
    |value| E5m2::from_f32(value as f32),
    check::float8_tolerance,
);

/// Integers from -4 to 4, whose sums are exact on the tensor cores as well.
const SMALL_FLOATS: Elements<E4m3> = (
    |value| E4m3::from_f32((value * 4.0).round() as f32),
    |k| check::product_tolerance::<f32>(k) * 4.0 * 4.0,
);

/// By the kernels for fast accumulation where `fast`.
fn every_kernel<T, C>(
    engine: &dyn Engine,
    capability: ComputeCapability,
    (round, tolerance): Elements<T>,
    fast: bool,
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let mut kernels = None;
    let mut entries = HashSet::new();
    let drawn = Drawn::products::<T, C>(engine, capability);
    for (turn, (multiprocessors, extents)) in CASES.into_iter().enumerate() {
        let device = DeviceLimits::new(multiprocessors, capability);
        for (transposed, padding, factors) in [
            // Rows that start at multiples of 16 bytes.
            (LAYOUTS[1], 16 - extents[2] % 16, [1.0, 0.0]),
            (LAYOUTS[[0, 2, 3][turn]], 16 - turn as u32, [-0.5, 2.0]),
        ] {
            let mut case = RandomGemm::<T, C>::new(extents, transposed, padding, 1, factors, round);
            case.product.float8.fast_accumulation = fast;
            let kernels = *kernels.insert(case.product.kernels(device).unwrap());
            let mut seen = HashSet::new();
            for (_, choice) in kernels.candidates(&case.product.problem(device)) {
                let stream_k = choice.decomposition.stream_k();
                let way = stream_k.map(|stream_k| stream_k.reduction as u32);
                if !seen.insert((choice.entry, way)) {
                    continue;
                }
                let name = format!("{turn} {transposed:?} {choice:?}");
                if !drawn.takes(&name, entries.insert(choice.entry)) {
                    continue;
                }
                let plan = gemm::plan_choice(&case.product, device, &choice);
                let outputs = case.run(engine, plan, if way.is_some() { 2 } else { 1 });
                for output in outputs {
                    let k = extents[2] as usize;
                    case.check(&output, tolerance(k))
                        .unwrap_or_else(|difference| {
                            panic!("{} into {}, {choice:?}: {difference}", T::NAME, C::TYPE)
                        });
                }
            }
        }
    }
    let kernels = kernels.unwrap();
    let persistent = kernels.persistent_tiles.iter().copied().flatten();
    for tile in kernels.tiles.iter().chain(persistent) {
        assert!(
            entries.contains(tile.entry),
            "{} was never tried",
            tile.entry
        );
    }
}

fn integers(engine: &dyn Engine, capability: ComputeCapability) {
    every_kernel::<_, f32>(engine, capability, I8, false);
    every_kernel::<_, f16>(engine, capability, SMALL, false);
    every_kernel::<_, bf16>(engine, capability, I8, false);
}

fn floats(engine: &dyn Engine) {
    every_kernel::<_, f32>(engine, ComputeCapability::V9_0, E4M3, false);
    every_kernel::<_, f16>(engine, ComputeCapability::V9_0, E4M3, false);
    every_kernel::<_, bf16>(engine, ComputeCapability::V9_0, E5M2, false);
    every_kernel::<_, f32>(engine, ComputeCapability::V9_0, SMALL_FLOATS, true);
    every_kernel::<_, f16>(engine, ComputeCapability::V9_0, SMALL_FLOATS, true);
}

#[test]
fn integers_are_right_by_every_kernel_of_mma_sync() {
    integers(&EmulatorEngine::new(), ComputeCapability::V8_0);
}

#[test]
fn integers_are_right_by_every_kernel_of_wgmma() {
    integers(&EmulatorEngine::new(), ComputeCapability::V9_0);
}

#[test]
fn floats_are_right_by_every_kernel() {
    floats(&EmulatorEngine::new());
}

#[test]
fn operands_of_large_products_of_integers_are_copied_first() {
    let device = DeviceLimits::new(2, ComputeCapability::V8_0);
    let engine = EmulatorEngine::new();
    for (extents, batch) in [
        ([131, 259, 864], 1),
        ([129, 63, 1008], 2),
        ([64, 300, 512], 1),
    ] {
        for transposed in LAYOUTS {
            let case = RandomGemm::<i8, f32>::new(extents, transposed, 16, batch, [0.5, 2.0], I8.0);
            let plan = gemm::plan(&case.product, device, &Choices::default()).unwrap();
            let copies = plan.launches.iter();
            let copies = copies.filter(|launch| launch.entry == "k_major_8").count();
            // A is K-major as it is, B where it is transposed.
            let expected = usize::from(transposed[0]) + usize::from(!transposed[1]);
            assert_eq!(copies, expected, "{extents:?} {transposed:?}");
            for output in case.run(&engine, plan, 2) {
                let tolerance = (I8.1)(extents[2] as usize);
                case.check(&output, tolerance).unwrap_or_else(|difference| {
                    panic!("{extents:?} {transposed:?}: {difference}")
                });
            }
        }
    }
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    integers(&*gpu, ComputeCapability::V8_0);
    if DeviceLimits::of(&*gpu).compute_capability == ComputeCapability::V9_0 {
        integers(&*gpu, ComputeCapability::V9_0);
        floats(&*gpu);
    }
}

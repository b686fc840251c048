//! GEMM of 8-bit elements by every kernel of them and in every decomposition that the planner has
//! for it, on the emulator and, where there is one, on a GPU.

use crate::common::gemm::{LAYOUTS, RandomGemm};
use crate::common::gpu;
use half::{bf16, f16};
use std::collections::HashSet;
use warpladder::check;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::{self, DeviceLimits, E4m3, E5m2, GemmInput, GemmInto};

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

fn every_kernel<T, C>(
    engine: &dyn Engine,
    capability: ComputeCapability,
    (round, tolerance): Elements<T>,
) where
    T: GemmInto<C, Output = f32> + Into<f64>,
    C: Element,
{
    let kernels = <T as GemmInput>::kernels(capability, T::C_16BIT);
    let mut entries = HashSet::new();
    for (turn, (multiprocessors, extents)) in CASES.into_iter().enumerate() {
        let device = DeviceLimits::new(multiprocessors, capability);
        for (transposed, padding, factors) in [
            // Rows that start at multiples of 16 bytes.
            (LAYOUTS[1], 16 - extents[2] % 16, [1.0, 0.0]),
            (LAYOUTS[[0, 2, 3][turn]], 16 - turn as u32, [-0.5, 2.0]),
        ] {
            let case = RandomGemm::<T, C>::new(extents, transposed, padding, 1, factors, round);
            let mut seen = HashSet::new();
            for (_, choice) in kernels.candidates(&case.product.problem(device)) {
                let stream_k = choice.decomposition.stream_k();
                let way = stream_k.map(|stream_k| stream_k.reduction as u32);
                if !seen.insert((choice.entry, way)) {
                    continue;
                }
                entries.insert(choice.entry);
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
    every_kernel::<_, f32>(engine, capability, I8);
    every_kernel::<_, f16>(engine, capability, SMALL);
    every_kernel::<_, bf16>(engine, capability, I8);
}

fn floats(engine: &dyn Engine) {
    every_kernel::<_, f32>(engine, ComputeCapability::V9_0, E4M3);
    every_kernel::<_, f16>(engine, ComputeCapability::V9_0, E4M3);
    every_kernel::<_, bf16>(engine, ComputeCapability::V9_0, E5M2);
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

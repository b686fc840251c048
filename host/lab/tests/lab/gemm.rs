//! GEMM, C ← α · op(A) · op(B) + β · C: layouts, leading dimensions, batches and
//! factors, by every instance that takes them, on the emulator and, where there is one, on a GPU.

use crate::common::drawn::Drawn;
use crate::common::gemm::{LAYOUTS, RandomGemm};
use crate::common::gpu;
use half::{bf16, f16};
use kernels_gpu::gemm::planner::{GemmPlan, KernelSet};
use std::collections::HashSet;
use warpladder::check;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::gemm::{self, Description, DeviceLimits, GemmInput, GemmInto, Tf32};

/// Sizes that meet edges of every tile, short sides, split-K, and promotion intervals of those.
const EXTENTS: [[u32; 3]; 14] = [
    // Rows of 16-bit elements that start at multiples of 16 bytes: in each layout one of these has
    // such padding.
    [136, 72, 104],
    [72, 200, 40],
    [128, 128, 64],
    [264, 136, 72],
    [8, 16, 1000],
    [1, 1, 1],
    [132, 68, 24],
    [33, 31, 17],
    [130, 70, 40],
    [5, 300, 64],
    [150, 3, 129],
    [1, 40, 700],
    [70, 40, 600],
    [64, 64, 0],
];

/// The kernels whose work units are a block each: those that take operands as they lie, where
/// others are persistent.
fn kernels<T: GemmInput>(device: DeviceLimits, c_16bit: bool) -> &'static KernelSet {
    let kernels = T::kernels(device.compute_capability, c_16bit);
    kernels.as_they_lie.unwrap_or(kernels)
}

/// Ways to compute a product: of every kernel that takes it, the first with k whole, in parts, and
/// in cut tiles.
fn choices<T: GemmInput>(product: &Description<T>, device: DeviceLimits) -> Vec<GemmPlan> {
    let kernels = kernels::<T>(device, product.c_16bit);
    let mut seen = HashSet::new();
    // As for kernels that ask for no copies.
    let generation = gemm::COMPUTE_CAPABILITY.min(device.compute_capability);
    let problem = product.problem(DeviceLimits {
        generation,
        ..device
    });
    let candidates = kernels.candidates(&problem);
    candidates
        .map(|(_, choice)| choice)
        .filter(|choice| {
            let decomposition = choice.decomposition;
            let stream_k = decomposition.stream_k();
            let shares = (
                decomposition.splits() > 1,
                stream_k.map(|stream_k| stream_k.splits > 2),
            );
            seen.insert((choice.entry, shares))
        })
        .collect()
}

/// Gaps between rows and between matrices, products in the batch, α and β.
const VARIANTS: [(u32, u32, [f64; 2]); 5] = [
    (0, 1, [1.0, 0.0]),
    (8, 2, [2.0, -0.5]),
    (3, 2, [-0.5, 2.0]),
    (3, 1, [-0.5, 2.0]),
    (4, 1, [2.0, 0.0]),
];

/// All sizes in all layouts: on a GPU in all variants, on the emulator in one of them each, by
/// turns. A sample has each kernel at least once.
fn all<T, C>(engine: &dyn Engine, device: DeviceLimits, round: fn(f64) -> T)
where
    T: GemmInto<C> + Into<f64>,
    C: Element,
{
    let drawn = Drawn::products::<T, C>(engine, device.compute_capability);
    let mut entries = HashSet::new();
    let turns = |turn: usize| match engine.kind() {
        EngineKind::Gpu => 0..VARIANTS.len(),
        _ => turn % VARIANTS.len()..turn % VARIANTS.len() + 1,
    };
    for (turn, extents) in EXTENTS.into_iter().enumerate() {
        for (other, transposed) in LAYOUTS.into_iter().enumerate() {
            for (padding, batch, factors) in VARIANTS[turns(turn + other)].iter().copied() {
                let case =
                    RandomGemm::<T, C>::new(extents, transposed, padding, batch, factors, round);
                let k = extents[2] as usize + 2;
                // What tensor cores round of sums is not specified.
                let of_warps = kernels::<T>(device, T::C_16BIT).takes_fusion;
                let tolerance = if of_warps {
                    check::tensor_tolerance(k)
                } else {
                    check::product_tolerance::<T::Output>(k)
                };
                for choice in choices(&case.product, device) {
                    let name = format!("{extents:?} {transposed:?} {padding} {choice:?}");
                    if !drawn.takes(&name, entries.insert(choice.entry)) {
                        continue;
                    }
                    let plan = gemm::plan_choice(&case.product, device, &choice);
                    // Where tiles are cut, the second launch finds the counts as the first left
                    // them.
                    let times = if choice.decomposition.stream_k().is_some() {
                        2
                    } else {
                        1
                    };
                    for output in case.run(engine, plan, times) {
                        if let Err(difference) = case.check(&output, tolerance) {
                            panic!(
                                "{extents:?}, transposed {transposed:?}, padding {padding}, \
                                 {batch} in the batch, {factors:?}, {choice:?}: {difference}"
                            );
                        }
                    }
                }
            }
        }
    }
    for tile in kernels::<T>(device, T::C_16BIT).tiles {
        let entry = tile.entry;
        assert!(entries.contains(entry), "{entry} was never tried");
    }
}

/// A device of few multiprocessors, so that small products have rounds that are full.
fn small(compute_capability: ComputeCapability) -> DeviceLimits {
    DeviceLimits::new(2, compute_capability)
}

#[test]
fn f32_products_are_right_in_every_layout() {
    all(
        &EmulatorEngine::new(),
        small(ComputeCapability::V9_0),
        f32::from_f64,
    );
}

#[test]
fn f64_products_are_right_in_every_layout() {
    all(
        &EmulatorEngine::new(),
        small(ComputeCapability::V8_0),
        f64::from_f64,
    );
    all(
        &EmulatorEngine::new(),
        small(ComputeCapability::V9_0),
        f64::from_f64,
    );
}

#[test]
fn portable_products_are_right_in_every_layout() {
    let (engine, device) = (EmulatorEngine::new(), small(gemm::PORTABLE));
    all(&engine, device, f32::from_f64);
    all(&engine, device, f64::from_f64);
    all::<_, f32>(&engine, device, f16::from_f64);
    all::<_, f32>(&engine, device, bf16::from_f64);
    all::<_, f16>(&engine, device, f16::from_f64);
    all::<_, bf16>(&engine, device, bf16::from_f64);
}

/// By `mma.sync`: all kernels on compute capabilities 8.0 and later, and those for operands as they
/// lie on 9.0.
fn by_warps(engine: &dyn Engine) {
    for device in [ComputeCapability::V8_0, ComputeCapability::V9_0].map(small) {
        all::<f16, f32>(engine, device, f16::from_f64);
        all::<bf16, f32>(engine, device, bf16::from_f64);
        all::<f16, f16>(engine, device, f16::from_f64);
        all::<bf16, bf16>(engine, device, bf16::from_f64);
        all::<Tf32, f32>(engine, device, |value| {
            Tf32(f32::from_bits((value as f32).to_bits() & !0x1fff))
        });
    }
}

#[test]
fn products_of_warps_are_right_in_every_layout() {
    by_warps(&EmulatorEngine::new());
}

#[test]
fn and_on_a_gpu() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    let device = DeviceLimits::of(&*gpu);
    for device in [
        device,
        small(device.compute_capability),
        small(gemm::PORTABLE),
    ] {
        all(&*gpu, device, f32::from_f64);
        all(&*gpu, device, f64::from_f64);
    }
    by_warps(&*gpu);
    let device = small(gemm::PORTABLE);
    all::<_, f32>(&*gpu, device, f16::from_f64);
    all::<_, f32>(&*gpu, device, bf16::from_f64);
    all::<_, f16>(&*gpu, device, f16::from_f64);
    all::<_, bf16>(&*gpu, device, bf16::from_f64);
}

//! The emulator computes what a GPU computes, to the last bit, on every rung.

use crate::common::{gpu, output};
use warpladder::device::ComputeCapability;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::DeviceLimits;
use warpladder::ptx;
use warpladder_lab::catalogue::{self, Implementation, PlanRequest, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{check_shape, describe};

const SEED: u64 = 1;

/// Sizes that every rung takes, or that show the edges of those that take any.
const SHAPES: [[u32; 3]; 9] = [
    [256, 384, 128],
    [128, 128, 256],
    [1, 1, 1],
    [2, 2, 2],
    [33, 31, 32],
    [31, 127, 33],
    [127, 2, 1],
    [96, 160, 64],
    [1000, 17, 333],
];

#[test]
fn emulator_and_gpu_agree_bit_for_bit() {
    let Some(gpu) = gpu::open() else {
        return;
    };
    // A plan may depend on them, and sums then have another order.
    let emulator = EmulatorEngine::new().with_multiprocessors(gpu.multiprocessors());
    let kernels = catalogue::rungs()
        .filter(|rung| !matches!(rung.implementation, Implementation::Cpu(_)))
        // The others are checked on newer devices.
        .filter(|rung| !needs_more_than(gpu.compute_capability(), rung));
    let mut disagreements = Vec::new();
    let mut compared = 0;
    for rung in kernels {
        let shapes = SHAPES.map(|[m, n, k]| Shape { m, n, k });
        let mut taken = 0;
        for shape in shapes {
            if check_shape(rung, shape).is_err() {
                continue;
            }
            taken += 1;
            if let Err(difference) = compare(&emulator, &*gpu, rung, shape) {
                let size = describe(rung.operation, shape);
                disagreements.push(format!("{} at {size}: {difference}", rung.name));
            }
        }
        assert!(taken > 0, "{} takes none of the sizes", rung.name);
        compared += taken;
    }
    println!(
        "{} and {}: {compared} outputs compared, {} differ",
        emulator.device_name(),
        gpu.device_name(),
        disagreements.len()
    );
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

fn needs_more_than(has: ComputeCapability, rung: &Rung) -> bool {
    rung.compute_capability().is_some_and(|needs| needs > has)
}

/// Whether a GPU may have other bits, by an instruction of the rung: blocks add floats to the same
/// word, each when it likes, and the order of these additions decides how they round. Or it
/// approximates, and the emulator's value is within the error of that (`docs/conformance.md`).
fn bits_may_differ(rung: &'static Rung, shape: Shape) -> bool {
    let Implementation::Planned { plan, .. } = rung.implementation else {
        return false;
    };
    let plan = plan(&PlanRequest {
        operation: rung.operation,
        shape,
        device: DeviceLimits::new(1, ComputeCapability::V9_0),
        transposed: [false; 2],
    })
    .unwrap();
    let differs = |word: &str| {
        let is_atomic = word.starts_with("atom.") || word.starts_with("red.");
        let adds = is_atomic && (word.ends_with(".add.f32") || word.ends_with(".add.f64"));
        let approximates = ["ex2.approx.", "rcp.approx.", "div.approx.", "div.full."];
        adds || approximates.iter().any(|prefix| word.starts_with(prefix))
    };
    let mut launches = plan.launches.iter();
    launches.any(|launch| {
        let text = ptx::module(launch.compute_capability).only(launch.entry);
        text.split_whitespace().any(differs)
    })
}

#[test]
fn sums_by_atomics_and_approximations_are_known_by_their_instruction() {
    let shape = Shape { m: 8, n: 8, k: 8 };
    for (name, differ) in [
        ("reduce_atomic", true),
        ("reduce_vec4", true),
        ("reduce_one_pass", false),
        ("histogram_global", false),
        ("sgemm", false),
        ("softmax_registers", true),
        ("softmax_warp", false),
    ] {
        let rung = catalogue::find(name).unwrap();
        assert_eq!(bits_may_differ(rung, shape), differ, "{name}");
    }
}

/// Runs a rung on both engines; what differs, or fails, is the error.
fn compare(
    emulator: &dyn Engine,
    gpu: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
) -> Result<(), String> {
    let run = |engine: &dyn Engine| {
        let (bytes, verdict) = output::of_rung(engine, rung, shape, SEED)
            .map_err(|error| format!("{}: {error}", engine.kind()))?;
        match verdict.complaint {
            Some(complaint) => Err(format!("{}: {complaint}", engine.kind())),
            None => Ok(bytes),
        }
    };
    let (emulated, real) = (run(emulator)?, run(gpu)?);
    // Both are right.
    if emulated == real || bits_may_differ(rung, shape) {
        return Ok(());
    }
    let width = rung.element.bytes() as usize;
    let (emulated, real) = (emulated.chunks(width), real.chunks(width));
    let mut different = emulated.zip(real).enumerate().filter(|(_, (e, r))| e != r);
    let (index, (e, r)) = different.next().expect("the outputs are equally long");
    Err(format!(
        "{} elements differ, the first is element {index}: bytes {e:02x?} on the emulator, \
         {r:02x?} on the GPU",
        1 + different.count()
    ))
}

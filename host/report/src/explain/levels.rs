//! Where a launch stands under the roof of each level of the memory.

use warpladder_lab::catalogue::Rung;
use warpladder_lab::problem::Operation;
use warpladder_models::devices::DeviceModel;
use warpladder_models::predict::Work;

/// What a launch moves at one level of the memory.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LevelUse {
    /// The level.
    pub level: &'static str,
    /// Bytes that move there.
    pub bytes: f64,
    /// The level's bandwidth, all multiprocessors together, in GB/s.
    pub roof_gbs: f64,
    /// The least time that this takes.
    pub ms: f64,
    /// Arithmetic intensity: FLOP per byte that moves there; null where there is no arithmetic.
    pub intensity: Option<f64>,
    /// What the roof allows at this intensity, at most the peak, in GFLOP/s; null where there is no
    /// arithmetic.
    pub attainable_gflops: Option<f64>,
}

const SECTOR_BYTES: f64 = 32.0;
const WAVEFRONT_BYTES: f64 = 128.0;

/// The levels that a launch uses and whose bandwidth is known, the nearest first; with its FLOP and
/// the peak of its units.
pub(super) fn levels(
    device: &DeviceModel,
    work: &Work,
    arithmetic: Option<(f64, f64)>,
) -> Vec<LevelUse> {
    let per_cycle = f64::from(device.multiprocessors.value) * device.clock_ghz();
    let l1 = device.architecture.l1_bytes_per_cycle;
    let sectors = work.l2_read_sectors + work.l2_write_sectors + work.l2_partial_sectors;
    let uses = [
        (
            "shared memory",
            work.shared_wavefronts as f64 * WAVEFRONT_BYTES,
            Some(device.shared_gbs()),
        ),
        (
            "L1 data path",
            (work.shared_wavefronts + work.l1_wavefronts) as f64 * WAVEFRONT_BYTES,
            l1.map(|figure| figure.value * per_cycle),
        ),
        (
            "L2",
            sectors as f64 * SECTOR_BYTES,
            device.l2_gbs.map(|figure| figure.value),
        ),
        (
            "DRAM",
            work.dram_bytes as f64,
            Some(device.usable_dram_gbs().value),
        ),
    ];
    let used = uses.into_iter().filter(|&(_, bytes, _)| bytes > 0.0);
    used.filter_map(|(level, bytes, gbs)| {
        let roof_gbs = gbs?;
        let intensity = arithmetic.map(|(flops, _)| flops / bytes);
        Some(LevelUse {
            level,
            bytes,
            roof_gbs,
            ms: bytes / roof_gbs / 1e6,
            intensity,
            attainable_gflops: arithmetic
                .zip(intensity)
                .map(|((_, peak), intensity)| peak.min(intensity * roof_gbs)),
        })
    })
    .collect()
}

/// The peak of the units that do a launch's arithmetic, in GFLOP/s.
pub(super) fn peak_gflops(device: &DeviceModel, rung: &Rung, work: &Work) -> Option<f64> {
    let instructions = &work.instructions;
    if work.tensor.f16 > 0 {
        let f16 = device.tensor_f16_tflops?.value * 1e3;
        return Some(match rung.operation {
            Operation::TensorProduct(input) => f16 * input.rate(),
            _ => f16 / f64::from(rung.mmas_per_product()),
        });
    }
    if work.tensor.f64 > 0 {
        device.peak_tensor_fp64_gflops()
    } else if instructions.fp64 > 0 {
        device.peak_fp64_gflops()
    } else if instructions.fp32 > 0 {
        device.peak_fp32_gflops()
    } else {
        None
    }
}

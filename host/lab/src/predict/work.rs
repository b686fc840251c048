//! The counts of a launch as work on a device.

use super::Counts;
use super::traffic::SECTOR_BYTES;
use crate::catalogue::Rung;
use crate::problem::{Operation, Shape};
use warpladder::element::ElementType;
use warpladder_models::devices::DeviceModel;
use warpladder_models::occupancy::Launch;
use warpladder_models::predict::{self, PredictError, TensorFlops, WarpInstructions, Work};

/// The counts as work on a device.
pub(super) fn work(
    device: &DeviceModel,
    rung: &Rung,
    shape: Shape,
    launch: &Launch,
    counts: &Counts,
) -> Result<Work, PredictError> {
    let rounds = predict::rounds(device, launch)?;
    let stored = counts.stored.by(predict::resident_warps(device, launch)?);
    let whole = |count: f64| count.round().max(0.0) as u64;
    let warps = launch.blocks * u64::from(launch.warps_per_block());
    let operation = rung.operation;
    let flops = whole(operation.flops(shape));
    let tensor = match (counts.tensor > 0.0, rung.element, operation) {
        (false, ..) => TensorFlops::default(),
        (_, ElementType::F64, _) => TensorFlops { f16: 0, f64: flops },
        // The units do half as many products of twice the width.
        (_, _, Operation::TensorProduct(input)) => TensorFlops {
            f16: whole(operation.flops(shape) / input.rate()),
            f64: 0,
        },
        _ => TensorFlops {
            f16: u64::from(rung.mmas_per_product()) * flops,
            f64: 0,
        },
    };
    // In further waves other blocks have work meanwhile.
    let ahead_of_others = counts.constant_addresses_ahead * (1.0 - 1.0 / rounds as f64);
    let dram_bytes = dram_bytes(device, rung, shape, rounds, counts);
    let read_bytes = counts.read_sectors * SECTOR_BYTES as f64;
    let missing = (dram_bytes / read_bytes.max(1.0)).min(1.0);
    let chain = counts.chain_l2 + missing * (counts.chain_dram - counts.chain_l2);
    Ok(Work {
        instructions: WarpInstructions {
            fp32: whole(counts.fp32),
            fp64: whole(counts.fp64),
            half: whole(counts.half),
            integer: whole(counts.integer),
            special: 0,
            conversion: whole(counts.conversion),
            load_store: whole(counts.load_store),
            other: whole(counts.other + counts.tensor),
        },
        tensor,
        l1_wavefronts: whole(counts.l1_wavefronts),
        l1_lines: whole(counts.l1_lines),
        l2_read_sectors: whole(counts.read_sectors),
        l2_write_sectors: whole(counts.write_sectors + stored.whole),
        l2_partial_sectors: whole(stored.partial),
        constant_addresses: whole(counts.constant_addresses + ahead_of_others),
        constant_addresses_ahead: whole(counts.constant_addresses_ahead - ahead_of_others),
        constant_operands: whole(counts.constant_operands),
        dram_bytes: whole(dram_bytes),
        shared_wavefronts: whole(counts.shared_wavefronts),
        // Those of products are arrivals at counters, one of a block.
        atomics: match operation.is_product() {
            true => 0,
            false => whole(counts.atomics),
        },
        barriers_per_block: whole(counts.barriers / launch.blocks.max(1) as f64),
        warp_latency_cycles: Some(chain / warps.max(1) as f64),
    })
}

/// Bytes that device memory moves.
///
/// A GPU without caches moves what each half of a warp asks for, sector by sector. Elsewhere timed
/// launches follow each other: what fits stays in the L2 cache, and of what does not, nothing does.
/// Of a product whose larger input does not fit, each wave of resident blocks reads that input
/// again: it runs along the whole extent of the grid, while the other input's part is shared by the
/// blocks of a wave.
fn dram_bytes(
    device: &DeviceModel,
    rung: &Rung,
    shape: Shape,
    rounds: u64,
    counts: &Counts,
) -> f64 {
    let Some(l2) = device.l2_bytes else {
        return counts.half_warp_sectors * SECTOR_BYTES as f64;
    };
    let l2 = l2.value as f64;
    if counts.footprint <= l2 {
        return 0.0;
    }
    // Copies before a product have no arithmetic.
    let product = counts.fp32 + counts.fp64 + counts.tensor > 0.0 && rung.operation.is_product();
    let (m, n, k) = (f64::from(shape.m), f64::from(shape.n), f64::from(shape.k));
    let element = match rung.operation {
        Operation::TensorProduct(input) => 4.0 / f64::from(input.per_word()),
        _ => rung.element.bytes() as f64,
    };
    let larger = m.max(n) * k * element;
    if product && larger > l2 {
        counts.footprint + (rounds - 1) as f64 * larger
    } else {
        counts.footprint
    }
}

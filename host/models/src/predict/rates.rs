//! What each resource has to do, and how fast it does it.

use super::Work;
use crate::Bound;
use crate::coalescing::SECTOR_BYTES;
use crate::devices::DeviceModel;
use crate::figure::Figure;
use crate::occupancy::Launch;

const WARP: f64 = 32.0;

/// What the L1 caches deliver in a cycle, at most.
const LINE_BYTES: f64 = 128.0;

/// Work on one resource.
pub(super) struct Load {
    pub bound: Bound,
    /// Of the whole launch.
    pub work: f64,
    rate: Option<Rate>,
}

enum Rate {
    /// Work per second of one multiprocessor.
    Multiprocessor(f64),
    /// Work per second of the chip.
    Chip(f64),
}

impl Load {
    /// The time that it takes where the busiest multiprocessor has this share of the launch.
    pub fn seconds(&self, share: f64) -> Option<f64> {
        match self.rate.as_ref()? {
            Rate::Multiprocessor(rate) => Some(share * self.work / rate),
            Rate::Chip(rate) => Some(self.work / rate),
        }
    }
}

/// Every resource and its work.
pub(super) fn loads(device: &DeviceModel, launch: &Launch, work: &Work) -> Vec<Load> {
    let hertz = device.clock_ghz() * 1e9;
    let architecture = &device.architecture;
    let per_cycle = |bound, work, rate: Option<f64>| Load {
        bound,
        work,
        rate: rate.map(|rate| Rate::Multiprocessor(rate * hertz)),
    };
    let gbs = |bound, work, rate: Option<f64>| Load {
        bound,
        work,
        rate: rate.map(|rate| Rate::Chip(rate * 1e9)),
    };
    // A unit with `lanes` lanes takes 32 / lanes cycles for a warp's instruction.
    let unit = |bound, count: u64, lanes: Option<u32>| {
        per_cycle(
            bound,
            count as f64,
            lanes.map(|lanes| f64::from(lanes) / WARP),
        )
    };
    let lanes = architecture.lanes.map(|figure| figure.value);
    let wavefront = f64::from(architecture.banks.value.cycles_per_wavefront());
    let count = &work.instructions;
    vec![
        unit(Bound::Fp32, count.fp32, lanes.map(|lanes| lanes.fp32)),
        unit(Bound::Fp64, count.fp64, lanes.map(|lanes| lanes.fp64)),
        unit(Bound::Half, count.half, lanes.and_then(|lanes| lanes.half)),
        // The units of f32 multiply-adds take integer ones as well, so that assemblers spread
        // integers over both.
        unit(
            Bound::Integer,
            count.integer + count.fp32,
            lanes.and_then(|lanes| Some(lanes.integer? + lanes.fp32)),
        ),
        unit(
            Bound::Special,
            count.special,
            lanes.and_then(|lanes| lanes.special),
        ),
        unit(
            Bound::Conversion,
            count.conversion,
            lanes.and_then(|lanes| lanes.conversion),
        ),
        unit(
            Bound::LoadStore,
            count.load_store,
            value(architecture.load_store),
        ),
        gbs(
            Bound::Tensor,
            work.tensor.f16 as f64,
            value(device.usable_tensor_tflops()).map(|tflops| tflops * 1e3),
        ),
        gbs(
            Bound::Tensor,
            work.tensor.f64 as f64,
            device.peak_tensor_fp64_gflops(),
        ),
        per_cycle(
            Bound::Blocks,
            if value(device.calibration.block_cycles).is_some() {
                launch.blocks as f64
            } else {
                0.0
            },
            value(device.calibration.block_cycles).map(|cycles| 1.0 / cycles),
        ),
        // After the units: where both are as long, the unit is the better explanation.
        per_cycle(
            Bound::Issue,
            count.issued() as f64,
            value(architecture.issue),
        ),
        per_cycle(
            Bound::Shared,
            work.shared_wavefronts as f64,
            Some(1.0 / wavefront),
        ),
        per_cycle(
            Bound::L1,
            l1_bytes(device, work),
            value(architecture.l1_bytes_per_cycle),
        ),
        constant(device, work),
        l2(device, work),
        gbs(
            Bound::Dram,
            work.dram_bytes as f64,
            Some(device.usable_dram_gbs().value),
        ),
    ]
}

/// What passes through the data path of the L1 caches and of shared memory, or could while lines
/// are looked for. Where it is not known how long that takes, a line takes a pass.
fn l1_bytes(device: &DeviceModel, work: &Work) -> f64 {
    let rate = value(device.architecture.l1_bytes_per_cycle);
    let cycles = value(device.calibration.l1_line_cycles);
    let line = rate
        .zip(cycles)
        .map_or(LINE_BYTES, |(rate, cycles)| rate * cycles);
    let passes = (work.shared_wavefronts + work.l1_wavefronts) as f64;
    (passes * LINE_BYTES).max(work.l1_lines as f64 * line)
}

/// The constant caches: addresses of requests, and operands from afar.
fn constant(device: &DeviceModel, work: &Work) -> Load {
    let calibration = &device.calibration;
    let cycles = |count: u64, figure| Some(count as f64 * value(figure)?);
    let addresses = cycles(work.constant_addresses, calibration.constant_cycles);
    let operands = cycles(work.constant_operands, calibration.constant_operand_cycles);
    let known = [addresses, operands].into_iter().flatten().sum();
    Load {
        bound: Bound::Constant,
        work: if addresses.is_some() || operands.is_some() {
            known
        } else {
            (work.constant_addresses + work.constant_operands) as f64
        },
        rate: addresses
            .or(operands)
            .map(|_| Rate::Multiprocessor(device.clock_ghz() * 1e9)),
    }
}

/// The L2 cache: sectors that it reads, whole ones that it writes and parts, each with a rate of
/// its own.
fn l2(device: &DeviceModel, work: &Work) -> Load {
    let sector = f64::from(SECTOR_BYTES);
    let calibration = &device.calibration;
    let read_rate = value(device.l2_gbs);
    // Counted in sectors that are read: what is written is as much work as the rates say.
    let written = |sectors: u64, rate| {
        let slower = read_rate.zip(value(rate));
        sectors as f64 * slower.map_or(1.0, |(read, written)| read / written)
    };
    let read = work.l2_read_sectors as f64;
    let whole = written(work.l2_write_sectors, calibration.l2_write_gbs);
    let partial = written(work.l2_partial_sectors, calibration.l2_partial_gbs);
    Load {
        bound: Bound::L2,
        work: (read + whole + partial) * sector,
        rate: read_rate.map(|rate| Rate::Chip(rate * 1e9)),
    }
}

fn value<T>(figure: Option<Figure<T>>) -> Option<T> {
    figure.map(|figure| figure.value)
}

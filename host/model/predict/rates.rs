//! What each resource has to do, and how fast it does it.

use super::Work;
use crate::model::Bound;
use crate::model::coalescing::SECTOR_BYTES;
use crate::model::devices::Device;
use crate::model::figure::Figure;

const WARP: f64 = 32.0;

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
pub(super) fn loads(device: &Device, work: &Work) -> Vec<Load> {
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
    // A unit with so many lanes takes 32 / lanes cycles for a warp's instruction.
    let unit = |bound, count: u64, lanes: Option<u32>| {
        per_cycle(
            bound,
            count as f64,
            lanes.map(|lanes| f64::from(lanes) / WARP),
        )
    };
    let lanes = architecture.lanes.map(|figure| figure.value);
    let sector = f64::from(SECTOR_BYTES);
    let wavefront = f64::from(architecture.banks.value.cycles_per_wavefront());
    let count = &work.instructions;
    vec![
        unit(Bound::Fp32, count.fp32, lanes.map(|lanes| lanes.fp32)),
        unit(Bound::Fp64, count.fp64, lanes.map(|lanes| lanes.fp64)),
        unit(Bound::Half, count.half, lanes.and_then(|lanes| lanes.half)),
        unit(
            Bound::Integer,
            count.integer,
            lanes.and_then(|lanes| lanes.integer),
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
            work.l1_sectors as f64 * sector,
            value(architecture.l1_bytes_per_cycle),
        ),
        gbs(
            Bound::L2,
            work.l2_sectors as f64 * sector,
            value(device.l2_gbs),
        ),
        gbs(
            Bound::Dram,
            work.dram_bytes as f64,
            Some(device.usable_dram_gbs().value),
        ),
    ]
}

fn value<T>(figure: Option<Figure<T>>) -> Option<T> {
    figure.map(|figure| figure.value)
}

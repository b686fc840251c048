//! A row for a GPU of this machine.

use super::architecture::Architecture;
use super::{Calibration, Device, Latencies, architectures, plain, table};
use crate::device::DeviceProperties;
use crate::model::bank_conflicts::Banks;
use crate::model::figure::Figure;
use crate::model::occupancy::Limits;
use std::borrow::Cow;

/// Registers that a thread can have on any GPU that today's driver supports; no query tells it.
const REGISTERS_PER_THREAD: u32 = 255;

impl Device {
    /// The row of a GPU of this machine: what its driver tells, and for the rest the row of the same GPU.
    ///
    /// Where the table has no such GPU, latencies are taken from one with the same compute capability
    /// ([`Basis::Assumed`](crate::model::Basis::Assumed)), and measured bandwidths stay unknown.
    pub fn from_properties(properties: &DeviceProperties) -> Device {
        let name = plain(&properties.name);
        let same_generation = || {
            table()
                .filter(|row| row.architecture.compute_capability == properties.compute_capability)
        };
        let same = same_generation().find(|row| {
            row.multiprocessors.value == properties.multiprocessors
                && name.contains(&plain(&row.name))
        });
        let relative = same.or_else(|| same_generation().next());
        let latencies = match (same, relative) {
            (Some(row), _) => row.latencies,
            (None, Some(row)) => row.latencies.assumed(),
            (None, None) => Latencies::default(),
        };
        Device {
            name: Cow::Owned(properties.name.clone()),
            chip: relative.map_or(Cow::Borrowed("unknown"), |row| row.chip.clone()),
            architecture: architecture(properties),
            multiprocessors: Figure::queried(properties.multiprocessors),
            clock_mhz: Figure::queried(f64::from(properties.clock_khz) / 1e3),
            dram_gbs: Figure::queried(properties.peak_bandwidth_gbs),
            dram_read_gbs: same.and_then(|row| row.dram_read_gbs),
            l2_bytes: Some(Figure::queried(u64::from(properties.l2_bytes))),
            l2_gbs: same.and_then(|row| row.l2_gbs),
            latencies,
            tensor_f16_tflops: same.and_then(|row| row.tensor_f16_tflops),
            calibration: same.map_or(Calibration::UNKNOWN, |row| row.calibration),
        }
    }
}

impl Latencies {
    fn assumed(self) -> Self {
        Latencies {
            fma: self.fma.map(Figure::assumed),
            fp64: self.fp64.map(Figure::assumed),
            l1: self.l1.map(Figure::assumed),
            shared: self.shared.map(Figure::assumed),
            l2: self.l2.map(Figure::assumed),
            dram: self.dram.map(Figure::assumed),
        }
    }
}

/// The architecture with the limits that the driver tells. A compute capability that is not in the table takes its
/// allocation from the nearest older one, and its units are unknown.
fn architecture(properties: &DeviceProperties) -> Architecture {
    let wanted = properties.compute_capability;
    let older = architectures::ALL
        .into_iter()
        .rfind(|known| known.compute_capability <= wanted);
    let nearest = older.unwrap_or(architectures::CC_1_3);
    let known = nearest.compute_capability == wanted;
    let limits = Limits {
        threads_per_block: properties.max_threads_per_block,
        threads: properties.max_threads_per_multiprocessor,
        blocks: properties.max_blocks_per_multiprocessor,
        registers: properties.registers_per_multiprocessor,
        registers_per_block: properties.registers_per_block,
        registers_per_thread: REGISTERS_PER_THREAD,
        shared_bytes: properties.shared_bytes_per_multiprocessor,
        shared_bytes_per_block: properties.shared_bytes_per_block_optin,
    };
    let mut allocation = nearest.allocation;
    allocation.value.shared_reserved = properties.shared_bytes_reserved_per_block;
    let kept = Architecture {
        compute_capability: wanted,
        limits: Figure::queried(limits),
        allocation,
        ..nearest
    };
    if known {
        return kept;
    }
    Architecture {
        allocation: allocation.assumed(),
        lanes: None,
        load_store: None,
        issue: None,
        banks: Figure::datasheet(Banks::CC_3, nearest.banks.source).assumed(),
        l1_bytes_per_cycle: None,
        ..kept
    }
}

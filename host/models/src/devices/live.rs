//! A row for a GPU of this machine.

use super::architecture::Architecture;
use super::{Calibration, DeviceModel, Latencies, architectures, plain, table};
use crate::bank_conflicts::Banks;
use crate::figure::Figure;
use crate::occupancy::Limits;
use std::borrow::Cow;

/// Registers that a thread can have on any GPU that today's driver supports; no query tells it.
const REGISTERS_PER_THREAD: u32 = 255;

/// What a driver tells of a GPU, as far as the models use it.
#[derive(Clone, Debug, PartialEq)]
pub struct Queried {
    /// Name, for example `NVIDIA H200`.
    pub name: String,
    /// Compute capability as the name of its target has it: 90 for `sm_90`.
    pub compute_capability: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Highest clock of the multiprocessors, in kHz.
    pub clock_khz: u32,
    /// Peak bandwidth of device memory, in 10⁹ bytes per second.
    pub peak_bandwidth_gbs: f64,
    /// L2 cache, in bytes.
    pub l2_bytes: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// Shared memory that a block can have after its kernel has opted in, in bytes.
    pub shared_bytes_per_block_optin: u32,
    /// Shared memory that the driver keeps for itself in every block, in bytes.
    pub shared_bytes_reserved_per_block: u32,
    /// Registers of 32 bits of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Registers of 32 bits that a block can use.
    pub registers_per_block: u32,
    /// Most threads resident on a multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most blocks resident on a multiprocessor.
    pub max_blocks_per_multiprocessor: u32,
}

impl DeviceModel {
    /// The row of a GPU of this machine: what its driver tells, and for the rest the row of the
    /// same GPU.
    ///
    /// Where the table has no such GPU, latencies are taken from one with the same compute
    /// capability ([`Basis::Assumed`](crate::Basis::Assumed)), and measured bandwidths stay
    /// unknown.
    pub fn from_query(queried: &Queried) -> DeviceModel {
        let name = plain(&queried.name);
        let same_generation = || {
            table().filter(|row| row.architecture.compute_capability == queried.compute_capability)
        };
        let same = same_generation().find(|row| {
            row.multiprocessors.value == queried.multiprocessors && name.contains(&plain(&row.name))
        });
        let relative = same.or_else(|| same_generation().next());
        let latencies = match (same, relative) {
            (Some(row), _) => row.latencies,
            (None, Some(row)) => row.latencies.assumed(),
            (None, None) => Latencies::default(),
        };
        DeviceModel {
            name: Cow::Owned(queried.name.clone()),
            chip: relative.map_or(Cow::Borrowed("unknown"), |row| row.chip.clone()),
            architecture: architecture(queried),
            multiprocessors: Figure::queried(queried.multiprocessors),
            clock_mhz: Figure::queried(f64::from(queried.clock_khz) / 1e3),
            dram_gbs: Figure::queried(queried.peak_bandwidth_gbs),
            dram_read_gbs: same.and_then(|row| row.dram_read_gbs),
            l2_bytes: Some(Figure::queried(u64::from(queried.l2_bytes))),
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

/// The architecture with the limits that the driver tells. A compute capability that is not in the
/// table takes its allocation from the nearest older one, and its units are unknown.
fn architecture(queried: &Queried) -> Architecture {
    let wanted = queried.compute_capability;
    let older = architectures::ALL
        .into_iter()
        .rfind(|known| known.compute_capability <= wanted);
    let nearest = older.unwrap_or(architectures::CC_1_3);
    let known = nearest.compute_capability == wanted;
    let limits = Limits {
        threads_per_block: queried.max_threads_per_block,
        threads: queried.max_threads_per_multiprocessor,
        blocks: queried.max_blocks_per_multiprocessor,
        registers: queried.registers_per_multiprocessor,
        registers_per_block: queried.registers_per_block,
        registers_per_thread: REGISTERS_PER_THREAD,
        shared_bytes: queried.shared_bytes_per_multiprocessor,
        shared_bytes_per_block: queried.shared_bytes_per_block_optin,
    };
    let mut allocation = nearest.allocation;
    allocation.value.shared_reserved = queried.shared_bytes_reserved_per_block;
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
        tensor_fp64: None,
        load_store: None,
        issue: None,
        banks: Figure::datasheet(Banks::CC_3, nearest.banks.source).assumed(),
        l1_bytes_per_cycle: None,
        ..kept
    }
}

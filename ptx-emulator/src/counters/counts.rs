//! The quantities that are counted.

use std::ops::AddAssign;

/// Bytes of a sector, the unit in which caches and device memory are read and written (CUDA C++
/// Best Practices Guide, "Coalesced Access to Global Memory").
pub const SECTOR_BYTES: u64 = 32;

/// Loads, stores or atomics of global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GlobalCounts {
    /// Warp instructions that accessed global memory in at least one lane (Nsight Compute:
    /// `l1tex__t_requests_pipe_lsu_mem_global_op_*`).
    pub requests: u64,
    /// Distinct 32-byte sectors, counted anew for each request (Nsight Compute:
    /// `l1tex__t_sectors_pipe_lsu_mem_global_op_*`).
    pub sectors: u64,
    /// Bytes that the lanes access; a byte that two lanes access counts twice.
    pub bytes: u64,
}

impl GlobalCounts {
    /// Bytes of the sectors: what moves between the SM and the caches.
    pub fn bytes_moved(&self) -> u64 {
        self.sectors * SECTOR_BYTES
    }

    /// Sectors per request: 4 for a warp of neighbouring 4-byte accesses, 32 at worst for any
    /// access of up to 32 bytes that is aligned to its size. None without requests.
    pub fn sectors_per_request(&self) -> Option<f64> {
        ratio(self.sectors, self.requests)
    }
}

impl AddAssign for GlobalCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.bytes += other.bytes;
    }
}

/// Loads or stores of shared memory.
///
/// A wavefront is one pass over the 32 banks of 4 bytes, in which each bank delivers or takes one
/// word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SharedCounts {
    /// Warp instructions that accessed shared memory in at least one lane.
    pub requests: u64,
    /// Wavefronts that the requests took (Nsight Compute:
    /// `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*`).
    pub wavefronts: u64,
    /// Wavefronts that they would have taken without bank conflicts.
    pub ideal_wavefronts: u64,
    /// The worst bank conflict: most distinct words of one bank in one pass. 1 is none, 32 the
    /// most.
    pub worst_conflict: u32,
    /// Bytes that the lanes access; a byte that two lanes access counts twice.
    pub bytes: u64,
}

impl SharedCounts {
    /// Wavefronts over ideal wavefronts: 1 without bank conflicts. None without requests.
    pub fn conflict_ratio(&self) -> Option<f64> {
        ratio(self.wavefronts, self.ideal_wavefronts)
    }
}

impl AddAssign for SharedCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.worst_conflict = self.worst_conflict.max(other.worst_conflict);
        self.bytes += other.bytes;
    }
}

/// Loads of constant memory.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstantCounts {
    /// Warp instructions that loaded in at least one lane.
    pub requests: u64,
    /// Distinct addresses, counted anew for each request: the constant cache delivers one at a
    /// time (CUDA C++ Programming Guide, "Device Memory Accesses", "Constant Memory").
    pub addresses: u64,
    /// Bytes that the lanes access.
    pub bytes: u64,
}

impl AddAssign for ConstantCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.addresses += other.addresses;
        self.bytes += other.bytes;
    }
}

/// Accesses of which only number and size are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PlainCounts {
    /// Warp instructions that accessed the space in at least one lane.
    pub requests: u64,
    /// Bytes that the lanes access.
    pub bytes: u64,
}

impl AddAssign for PlainCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
    }
}

/// Copies of boxes between global and shared memory by the copy engine (`cp.async.bulk.tensor`): no
/// lane accesses them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BulkCounts {
    /// Distinct 32-byte sectors of global memory, counted anew for each row of a box.
    pub sectors: u64,
    /// Bytes of global memory that were copied: those of the boxes as far as they lie inside the
    /// tensor.
    pub bytes: u64,
}

impl BulkCounts {
    /// Bytes of the sectors.
    pub fn bytes_moved(&self) -> u64 {
        self.sectors * SECTOR_BYTES
    }
}

impl AddAssign for BulkCounts {
    fn add_assign(&mut self, other: Self) {
        self.sectors += other.sectors;
        self.bytes += other.bytes;
    }
}

/// What one instruction, one source line or a whole kernel did. All counts are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Counts {
    /// PTX instructions issued, once per warp (Nsight Compute counts the SASS that ptxas makes of
    /// them: `smsp__inst_executed`).
    pub warp_instructions: u64,
    /// Active lanes of the warp instructions, predicated off or not (Nsight Compute:
    /// `smsp__thread_inst_executed`).
    pub active_lanes: u64,
    /// Lanes in which the instructions had an effect (Nsight Compute:
    /// `smsp__thread_inst_executed_pred_on`).
    pub thread_instructions: u64,
    /// Floating-point operations of the threads, of any precision: 2 for a fused multiply-add, 1
    /// for a sum, difference, product, quotient, root or other function; none for a sign, a
    /// minimum, a comparison or a conversion; double for an instruction that computes two values
    /// (`.f16x2`, `.bf16x2`).
    pub flops: u64,
    /// Loads of global memory.
    pub global_loads: GlobalCounts,
    /// Stores to global memory.
    pub global_stores: GlobalCounts,
    /// Atomics on global memory; each counts once, though it reads and writes.
    pub global_atomics: GlobalCounts,
    /// Bulk copies from global memory.
    pub bulk_loads: BulkCounts,
    /// Bulk copies to global memory.
    pub bulk_stores: BulkCounts,
    /// Loads of shared memory.
    pub shared_loads: SharedCounts,
    /// Stores to shared memory.
    pub shared_stores: SharedCounts,
    /// Atomics on shared memory.
    pub shared_atomics: PlainCounts,
    /// Loads of the cluster's shared memory (`.shared::cluster`), a block's own among them.
    pub cluster_loads: PlainCounts,
    /// Stores to it.
    pub cluster_stores: PlainCounts,
    /// Atomics on it, and arrivals at mbarriers.
    pub cluster_atomics: PlainCounts,
    /// Loads of local memory: arrays with computed indices, and spilled registers.
    pub local_loads: PlainCounts,
    /// Stores to local memory.
    pub local_stores: PlainCounts,
    /// Loads of constant memory and of parameters at computed addresses. A parameter at a fixed
    /// address is an operand for the GPU, and no access.
    pub constant_loads: ConstantCounts,
    /// Conditional branches (and returns, and branches by index) issued, once per warp.
    pub branches: u64,
    /// Branches after which the warp was divergent.
    pub divergent_branches: u64,
    /// Warp instructions at barriers of the block or of the cluster.
    pub barriers: u64,
}

impl Counts {
    /// Loads, stores and atomics of global memory, without bulk copies.
    pub fn global(&self) -> GlobalCounts {
        let mut sum = self.global_loads;
        sum += self.global_stores;
        sum += self.global_atomics;
        sum
    }

    /// Loads and stores of shared memory.
    pub fn shared(&self) -> SharedCounts {
        let mut sum = self.shared_loads;
        sum += self.shared_stores;
        sum
    }

    /// Lanes per warp instruction: 32 where no warp is divergent or partly empty. None where
    /// nothing was issued.
    pub fn average_active_lanes(&self) -> Option<f64> {
        ratio(self.active_lanes, self.warp_instructions)
    }

    /// Bytes moved between the SM and the caches, by lanes and by bulk copies.
    pub fn bytes_moved(&self) -> u64 {
        let bulk = self.bulk_loads.bytes_moved() + self.bulk_stores.bytes_moved();
        self.global().bytes_moved() + bulk
    }

    /// FLOP per byte moved between the SM and the caches. None where nothing moved.
    pub fn flops_per_byte_moved(&self) -> Option<f64> {
        ratio(self.flops, self.bytes_moved())
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.warp_instructions += other.warp_instructions;
        self.active_lanes += other.active_lanes;
        self.thread_instructions += other.thread_instructions;
        self.flops += other.flops;
        self.global_loads += other.global_loads;
        self.global_stores += other.global_stores;
        self.global_atomics += other.global_atomics;
        self.bulk_loads += other.bulk_loads;
        self.bulk_stores += other.bulk_stores;
        self.shared_loads += other.shared_loads;
        self.shared_stores += other.shared_stores;
        self.shared_atomics += other.shared_atomics;
        self.cluster_loads += other.cluster_loads;
        self.cluster_stores += other.cluster_stores;
        self.cluster_atomics += other.cluster_atomics;
        self.local_loads += other.local_loads;
        self.local_stores += other.local_stores;
        self.constant_loads += other.constant_loads;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.barriers += other.barriers;
    }
}

pub(super) fn ratio(of: u64, to: u64) -> Option<f64> {
    (to != 0).then(|| of as f64 / to as f64)
}

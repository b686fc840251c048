//! What the workers of a launch share, and the checks before it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clock::Clock;
use super::cooperative::Cooperative;
use super::system::Printed;
use super::{convert, simd};
use crate::address_space::{
    OUTSIDE, RANK_SHIFT, cluster_address, of_cluster, resolve_cluster, resolve_with_rank, with_rank,
};
use crate::allocation::Allocation;
use crate::error::LaunchError;
use crate::ir::{Constant, Half, LaneMask, Special, SystemFunction};
use crate::kernel::Kernel;
use crate::launch::{Args, HeapLaunch, LaunchConfig};
use crate::memory::{Memory, Snapshot};

/// Instructions that a worker takes from the budget at a time.
const FUEL_STEP: u64 = 1 << 16;

/// Limits of the grid (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];

/// The answer to a worker that requests fuel.
pub(crate) enum Fuel {
    More,
    Empty,
}

/// Everything about a launch that its workers share.
pub(crate) struct Launch<'l> {
    pub kernel: &'l Kernel,
    pub memory: &'l Memory,
    /// The allocations when the launch began, by address.
    pub allocations: Snapshot,
    pub params: Vec<u8>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster; one where the launch names none.
    pub cluster: [u32; 3],
    /// Blocks that run in turn on one worker: a cluster, or the grid of a cooperative launch.
    group: [u32; 3],
    pub(super) cooperative: Option<Cooperative<'l>>,
    pub threads: u32,
    /// Static and dynamic shared memory in bytes.
    pub shared_bytes: u32,
    pub(super) is_explicit_cluster: bool,
    pub(super) dynamic_offset: u32,
    pub(super) dynamic_bytes: u32,
    pub(super) variables: Arc<Vec<u64>>,
    pub budget: u64,
    pub(super) remaining: AtomicU64,
    /// The first group of blocks that has failed; later ones need not run on.
    pub(super) failed_group: AtomicU64,
    next_group: AtomicU64,
    pub clock: Clock,
    pub level: simd::Level,
    /// Held while a strong access to global memory is reported and performed.
    pub(super) strong: Mutex<()>,
    /// Where blocks of the device heap come from, if the kernel may allocate any.
    pub(super) heap_launch: Option<Arc<HeapLaunch>>,
    pub(super) printed: Mutex<Printed>,
    /// Whether an observer that steps has ended the launch.
    pub(super) stopped: AtomicBool,
}

impl<'l> Launch<'l> {
    /// Checks a launch and makes everything ready for its workers.
    pub(super) fn new(
        level: simd::Level,
        kernel: &'l Kernel,
        memory: &'l Memory,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<Self, LaunchError> {
        let named_cluster = config.cluster.or(kernel.required_cluster());
        check_shape(kernel, config, named_cluster)?;
        let program = &kernel.0.program;
        let fixed = program.static_shared;
        let dynamic_offset = fixed.next_multiple_of(program.dynamic_align.max(16));
        let wanted = match config.dynamic_shared_bytes {
            0 => u64::from(fixed),
            dynamic => u64::from(dynamic_offset) + u64::from(dynamic),
        };
        // The last byte is in a word, as that of a variable in global memory.
        let wanted = wanted.next_multiple_of(4);
        let reserved = kernel.reserved_shared_bytes();
        if wanted > u64::from(crate::MAX_SHARED_BYTES + reserved) {
            return Err(LaunchError::SharedTooLarge {
                wanted: wanted - u64::from(reserved),
                fixed: program.own_shared,
                limit: crate::MAX_SHARED_BYTES,
            });
        }
        let wanted = match wanted {
            0 => 0,
            // At least the word that the last byte is in.
            some => some.next_multiple_of(config.shared_unit.clamp(4, 1024).into()),
        };
        let params = args.block(kernel)?;
        let module = &kernel.0.module;
        let variables = module.all_variables(memory, &program.variables)?;
        let mut calls = program.system_calls.iter();
        let allocates = calls.any(|call| call.function == SystemFunction::Allocate);
        if allocates {
            memory.prepare_heap()?;
        }
        let cluster = named_cluster.unwrap_or([1; 3]);
        let cooperative = match config.cooperative {
            true => {
                let of_block = (cluster, wanted as u32);
                Some(Cooperative::new(memory, program, config, of_block)?)
            }
            false => None,
        };
        let group = match config.cooperative {
            true => config.grid,
            false => cluster,
        };
        let heap_launch = allocates.then(|| HeapLaunch {
            kernel: kernel.clone(),
            grid: config.grid,
            block: config.block,
            cluster,
        });
        Ok(Launch {
            kernel,
            memory,
            allocations: memory.snapshot(),
            params,
            grid: config.grid,
            block: config.block,
            cluster,
            group,
            cooperative,
            is_explicit_cluster: named_cluster.is_some(),
            threads: config.block.iter().product(),
            shared_bytes: wanted as u32,
            dynamic_offset,
            dynamic_bytes: config.dynamic_shared_bytes,
            variables,
            budget: config.instruction_budget,
            remaining: AtomicU64::new(config.instruction_budget),
            failed_group: AtomicU64::new(u64::MAX),
            next_group: AtomicU64::new(0),
            clock: Clock::start(),
            level,
            strong: Mutex::new(()),
            heap_launch: heap_launch.map(Arc::new),
            printed: Mutex::default(),
            stopped: AtomicBool::new(false),
        })
    }
}

impl Launch<'_> {
    /// The lock that keeps the reports of strong accesses to global memory in the order of the
    /// accesses.
    pub(crate) fn in_order(&self) -> MutexGuard<'_, ()> {
        self.strong.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Index of the allocation that holds all of the bytes.
    pub(crate) fn allocation_index(&self, address: u64, bytes: u64) -> Option<usize> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let index = after.checked_sub(1)?;
        let allocation = &self.allocations[index];
        let holds = allocation.contains(address, bytes)
            && (!allocation.is_heap || self.memory.heap().holds(address, bytes));
        holds.then_some(index)
    }

    /// The allocation that holds all of the bytes; `near` is the index of the one to look at first,
    /// and becomes that of the one that was found.
    #[inline(always)]
    pub(crate) fn allocation_near(
        &self,
        near: &mut u32,
        address: u64,
        bytes: u64,
    ) -> Option<&Allocation> {
        if let Some(allocation) = self.allocations.get(*near as usize)
            && !allocation.is_heap
            && allocation.contains(address, bytes)
        {
            return Some(allocation);
        }
        *near = self.allocation_index(address, bytes)? as u32;
        Some(&self.allocations[*near as usize])
    }

    pub(crate) fn allocation(&self, address: u64, bytes: u64) -> Option<&Allocation> {
        self.allocation_index(address, bytes)
            .map(|index| self.allocations[index].as_ref())
    }

    /// The allocation nearest to an address, in words.
    pub(crate) fn nearest(&self, address: u64) -> String {
        if let Some(arena) = self.memory.heap().arena()
            && arena.contains(address, 0)
        {
            return self.memory.heap().nearest(address);
        }
        let distance = |allocation: &Allocation| {
            let end = allocation.base + allocation.bytes;
            if address < allocation.base {
                allocation.base - address
            } else {
                address.saturating_sub(end)
            }
        };
        match self.allocations.iter().min_by_key(|a| distance(a)) {
            None => "there is no allocation".to_string(),
            Some(allocation) => {
                let place = if address < allocation.base {
                    format!("{} bytes before it", allocation.base - address)
                } else {
                    format!("at byte {} of it", address - allocation.base)
                };
                format!(
                    "nearest allocation is {:#x} with {} bytes, the address is {place}",
                    allocation.base, allocation.bytes
                )
            }
        }
    }

    /// Gives a worker the same share of the budget at the start of every block, so that the turns
    /// of the block's warps do not depend on what the worker ran before.
    pub(crate) fn level_fuel(&self, fuel: &mut u64, granted: &mut u64) {
        let order = Ordering::Relaxed;
        if let Some(excess) = fuel.checked_sub(FUEL_STEP) {
            self.remaining.fetch_add(excess, order);
            *fuel -= excess;
            *granted -= excess;
            return;
        }
        let wanted = FUEL_STEP - *fuel;
        let before = self.remaining.fetch_update(order, order, |remaining| {
            Some(remaining - remaining.min(wanted))
        });
        // The closure never declines: both cases hold the old value.
        let (Ok(before) | Err(before)) = before;
        let taken = before.min(wanted);
        *fuel += taken;
        *granted += taken;
    }

    /// Takes instructions from the budget.
    pub(crate) fn take_fuel(&self, fuel: &mut u64, granted: &mut u64) -> Fuel {
        let mut taken = 0;
        let order = Ordering::Relaxed;
        // The closure never declines.
        let _ = self.remaining.fetch_update(order, order, |remaining| {
            taken = remaining.min(FUEL_STEP);
            Some(remaining - taken)
        });
        if taken == 0 {
            return Fuel::Empty;
        }
        *fuel += taken;
        *granted += taken;
        Fuel::More
    }

    /// Whether a group of blocks need not run on since an earlier one has failed.
    pub(crate) fn is_stopped(&self, group: u64) -> bool {
        self.failed_group.load(Ordering::Relaxed) < group
    }

    /// The value of a constant in one thread. `thread` is its linear index in the block.
    pub(crate) fn constant(&self, constant: Constant, thread: u32, block: [u32; 3]) -> u64 {
        match constant {
            Constant::Bits(bits) => bits,
            Constant::Param {
                offset,
                bytes,
                signed,
            } => {
                let mut value = [0u8; 8];
                let start = offset as usize;
                let given = self.params.get(start..start + bytes as usize);
                let given = given.unwrap_or(&[]);
                value[..given.len().min(8)].copy_from_slice(&given[..given.len().min(8)]);
                let value = u64::from_le_bytes(value);
                match signed {
                    true => convert::sign_extend(value, 8 * bytes) as u64,
                    false => value,
                }
            }
            Constant::DynamicShared(addend) => {
                u64::from(self.dynamic_offset).wrapping_add_signed(addend)
            }
            Constant::OwnShared(is_dynamic, addend) => {
                let start = if is_dynamic { self.dynamic_offset } else { 0 };
                let within = u64::from(start).wrapping_add_signed(addend);
                let rank = self.special(Special::ClusterRank, thread, block);
                with_rank(within, rank)
            }
            Constant::Variable(index, addend) => {
                let address = self.variables.get(index as usize).copied().unwrap_or(0);
                address.wrapping_add_signed(addend)
            }
            Constant::Special(special) => self.special(special, thread, block),
        }
    }

    /// Bytes of shared memory of a block, in units of the kernel's target.
    fn aggregate_shared(&self) -> u32 {
        self.shared_bytes
            .next_multiple_of(self.kernel.shared_unit())
    }

    pub(super) fn special(&self, special: Special, thread: u32, block: [u32; 3]) -> u64 {
        let [x, y, _] = self.block;
        let lane = thread % 32;
        u64::from(match special {
            Special::ThreadId(0) => thread % x,
            Special::ThreadId(1) => thread / x % y,
            Special::ThreadId(_) => thread / x / y,
            Special::ThreadCount(axis) => self.block[usize::from(axis) % 3],
            Special::BlockId(axis) => block[usize::from(axis) % 3],
            Special::BlockCount(axis) => self.grid[usize::from(axis) % 3],
            Special::ClusterId(axis) => {
                let axis = usize::from(axis) % 3;
                block[axis] / self.cluster[axis]
            }
            Special::ClusterCount(axis) => self.clusters()[usize::from(axis) % 3],
            Special::ClusterBlockId(axis) => self.place_in_cluster(block)[usize::from(axis) % 3],
            Special::ClusterBlockCount(axis) => self.cluster[usize::from(axis) % 3],
            Special::ClusterRank => {
                let [width, height, _] = self.cluster;
                let [x, y, z] = self.place_in_cluster(block);
                (z * height + y) * width + x
            }
            Special::ClusterBlocks => self.cluster_blocks(),
            Special::IsExplicitCluster => u32::from(self.is_explicit_cluster),
            Special::Lane => lane,
            Special::Warp => thread / 32,
            Special::WarpCount => self.threads.div_ceil(32),
            Special::LaneMask(LaneMask::Equal) => 1 << lane,
            Special::LaneMask(LaneMask::Less) => (1 << lane) - 1,
            Special::LaneMask(LaneMask::LessEqual) => u32::MAX >> (31 - lane),
            Special::LaneMask(LaneMask::Greater) => !(u32::MAX >> (31 - lane)),
            Special::LaneMask(LaneMask::GreaterEqual) => u32::MAX << lane,
            Special::DynamicSharedBytes => self.dynamic_bytes,
            Special::TotalSharedBytes => {
                self.aggregate_shared() - self.kernel.reserved_shared_bytes()
            }
            Special::AggregateSharedBytes => self.aggregate_shared(),
            Special::ReservedShared(offset) => {
                let start = self.kernel.0.program.reserved_shared.unwrap_or_default();
                start + u32::from(offset)
            }
            Special::ReservedSharedBytes => u32::from(crate::RESERVED_SHARED_BYTES),
            Special::GridWorkspace(half) => {
                let workspace = self.cooperative.as_ref().map(Cooperative::workspace);
                let workspace = workspace.unwrap_or_default();
                match half {
                    Half::Lower => workspace as u32,
                    Half::Upper => (workspace >> 32) as u32,
                }
            }
            Special::Zero => 0,
            Special::One => 1,
        })
    }

    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Number of blocks of a cluster.
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Whether each block is a cluster of its own.
    pub(super) fn blocks_are_clusters(&self) -> bool {
        self.is_cooperative() || self.cluster_blocks() == 1
    }

    /// Number of blocks that run in turn on one worker.
    pub(crate) fn group_blocks(&self) -> u32 {
        self.group.iter().product()
    }

    /// The reported form of an address in the shared memory of a cluster that a program uses; `own`
    /// is the rank of its block.
    pub(super) fn resolve_cluster(&self, address: u64, own: u32) -> u64 {
        let has_ranks = self.kernel.0.program.has_ranks;
        let resolved = match has_ranks {
            false => resolve_cluster(address, own),
            true => resolve_with_rank(address, own),
        };
        // A block of a cooperative launch is a cluster of its own, and reaches no other one.
        let first = if has_ranks {
            with_rank(0, 0) >> RANK_SHIFT
        } else {
            0
        };
        match self.is_cooperative() && address >> RANK_SHIFT != 0 {
            true if has_ranks && address >> RANK_SHIFT == first => {
                cluster_address(own, of_cluster(address).1)
            }
            true => OUTSIDE << RANK_SHIFT | resolved,
            false => resolved,
        }
    }

    /// Clusters of the grid.
    fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis])
    }

    fn place_in_cluster(&self, block: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| block[axis] % self.cluster[axis])
    }

    /// The block of a rank in the group with this first block.
    pub(crate) fn block_of_group(&self, first: [u32; 3], rank: u32) -> [u32; 3] {
        let [x, y, _] = self.group;
        let place = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|axis| first[axis] + place[axis])
    }

    /// Number of groups of blocks.
    pub(super) fn groups(&self) -> u64 {
        self.blocks() / u64::from(self.group_blocks())
    }

    /// Whether a group has not begun.
    pub(super) fn has_groups_left(&self) -> bool {
        self.next_group.load(Ordering::Relaxed) < self.groups()
    }

    /// Takes the next group of blocks to run: its index, and its first block.
    pub(super) fn next_group(&self) -> Option<(u64, [u32; 3])> {
        let index = self.next_group.fetch_add(1, Ordering::Relaxed);
        let groups: [u32; 3] = std::array::from_fn(|axis| self.grid[axis] / self.group[axis]);
        let [x, y, z] = groups.map(u64::from);
        if index >= x * y * z || self.is_stopped(index) {
            return None;
        }
        let at = [index % x, index / x % y, index / x / y];
        let first = std::array::from_fn(|axis| at[axis] as u32 * self.group[axis]);
        Some((index, first))
    }
}

fn check_shape(
    kernel: &Kernel,
    config: &LaunchConfig,
    cluster: Option<[u32; 3]>,
) -> Result<(), LaunchError> {
    let (grid, block) = (config.grid, config.block);
    if grid.contains(&0) || block.contains(&0) {
        return Err(LaunchError::ZeroExtent { grid, block });
    }
    if grid
        .iter()
        .zip(MAX_GRID)
        .any(|(&extent, limit)| extent > limit)
    {
        let limit = MAX_GRID;
        return Err(LaunchError::GridTooLarge { grid, limit });
    }
    let product = |extents: [u32; 3]| {
        let factors = extents.iter().map(|&extent| u64::from(extent));
        factors.fold(1u64, u64::saturating_mul)
    };
    let threads = product(block);
    let too_large = |limit, reason| LaunchError::BlockTooLarge {
        threads,
        limit,
        reason,
    };
    if threads > u64::from(crate::MAX_BLOCK_THREADS) {
        let limit = u64::from(crate::MAX_BLOCK_THREADS);
        return Err(too_large(limit, "a block can have"));
    }
    if let Some(most) = kernel.max_threads()
        && threads > product(most)
    {
        return Err(too_large(product(most), "the kernel states (.maxntid)"));
    }
    match kernel.required_threads() {
        Some(required) if required != block => Err(LaunchError::WrongBlock { required, block }),
        _ => check_cluster(kernel, config, cluster),
    }
}

/// Clusters divide the grid, and are no larger than what every device with clusters can run, or
/// than what the launch allows.
fn check_cluster(
    kernel: &Kernel,
    config: &LaunchConfig,
    cluster: Option<[u32; 3]>,
) -> Result<(), LaunchError> {
    let grid = config.grid;
    let function = &kernel.0.module.tree.functions[kernel.0.function];
    let Some(cluster) = cluster else {
        return match function.explicit_cluster {
            true => Err(LaunchError::NoCluster),
            false => Ok(()),
        };
    };
    if let Some(required) = kernel.required_cluster()
        && required != cluster
    {
        return Err(LaunchError::OtherCluster { required, cluster });
    }
    let divides = |(&blocks, &of): (&u32, &u32)| blocks != 0 && of.is_multiple_of(blocks);
    if !cluster.iter().zip(&grid).all(divides) {
        return Err(LaunchError::WrongCluster { cluster, grid });
    }
    let blocks: u64 = cluster.iter().map(|&extent| u64::from(extent)).product();
    let stated = function.max_cluster_blocks.map_or(u64::MAX, u64::from);
    let limit = stated.min(match config.larger_clusters {
        false => crate::MAX_CLUSTER_BLOCKS,
        true => crate::MAX_LARGER_CLUSTER_BLOCKS,
    });
    match blocks <= limit {
        true => Ok(()),
        false => Err(LaunchError::ClusterTooLarge { blocks, limit }),
    }
}

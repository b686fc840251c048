//! The race checker.

mod accesses;
mod areas;
mod deferred_reads;
mod fine_grained;
mod launch;
mod list_entries;
mod order;
mod read_lists;
mod stored;
mod strong_writes;
mod tensor_memory;
#[cfg(test)]
mod tests;
mod updates;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::clocks::Clocks;
use super::finding::Finding;
use super::last_accesses::Blocks;
use super::launch_geometry::LaunchGeometry;
use super::recycled;
use super::semantics::Semantics;
use super::settled_reads::{Key, SettledReads};
use super::shadow_memory::ShadowMemory;
use super::shadow_view::ShadowView;
use super::shape::{Shape, Shapes};
use super::sync_table::{BlockSet, SyncTable};
use super::tally::Tally;
use crate::exec::Level;
use crate::ir::{AccessKind, InstructionId, Space};
use crate::kernel::Kernel;
use crate::observer::{
    Event, Form, Interest, MemoryAccess, Observer, RepeatedAccess, RepeatedLoads, WarpContext,
};
use areas::Area;
use deferred_reads::DeferredReads;
use list_entries::ReadList;
use read_lists::ReadLists;
use stored::StoredValuesOf;
use strong_writes::Updates;

/// Finds data races on shared and on global memory; an [`Observer`].
///
/// Two accesses race if they are of different threads, touch the same byte, at least one of them is
/// a write that is neither atomic nor otherwise strong, and nothing orders them, in whatever order
/// they happened (PTX ISA, "Memory Consistency Model"). Barriers order the threads of a block,
/// `bar.warp.sync` orders the lanes of a warp as well (shuffles and votes order no memory
/// accesses), and nothing orders the blocks of a grid. Lanes of a warp that write the same value to
/// the same address by one instruction do not race: one of the writes is performed, and it does not
/// matter which (CUDA C++ Programming Guide, "SIMT Architecture"). A strong write, as of an atomic,
/// races with a plain read too.
///
/// Finer order comes from releases and acquires: an arrival at an mbarrier and a wait for its
/// phase; a releasing and an acquiring operation on the same address; relaxed operations on it,
/// with a fence before the one and after the other. Each counts for the lane alone that executes
/// it. Between blocks only the fact is tracked that a block has acquired what another released, not
/// which accesses preceded the release.
///
/// Asynchronous operations (`cp.async`, `cp.async.bulk`, `wgmma`) access memory from their issue
/// until their completion is observed: by the lane that has waited for it, by a warp of the
/// warpgroup that has waited for a group of MMAs, or by a thread that waits for the phase of the
/// mbarrier to which it was signalled. Loads from shared memory that a warp issues before an MMA
/// have ended when that has, and are ordered as what it reads is. A write to shared memory that
/// such an operation reads must be followed by `fence.proxy.async`.
///
/// The threads of a cluster are ordered by its barrier as well, and by arrivals at the mbarriers of
/// other blocks; for accesses to global memory a cluster counts as one block. It is not checked
/// that a block has started before others access its shared memory, which only the cluster's
/// barrier ensures. Of a multicast's reads of global memory only the cluster is recorded.
///
/// Each block of a cooperative launch is watched by itself. The barrier of the grid
/// (`cooperative_groups::this_grid().sync()`) orders all accesses before it and all behind it; a
/// barrier of the grid that is made of atomics orders blocks as other releases and acquires do. Of
/// a block that waits for others in another way, accesses before and after are taken as ordered.
///
/// The findings of a launch are the same for any number of worker threads, unless blocks behave
/// differently depending on their order. Of a launch that ends in a fault, the races in the block
/// that faulted and in those before it are kept, and the races between these that were noticed: how
/// far later blocks have come depends on chance.
#[derive(Clone, Debug, Default)]
pub struct Racecheck {
    geometry: LaunchGeometry,
    level: Level,
    /// By instruction.
    semantics: Vec<Semantics>,
    /// Whether there is anything in the kernel by which threads order more than by barriers.
    synchronises: bool,
    /// Whether threads arrive at the barrier of the cluster and release what precedes a fence:
    /// then the fence after the initialisation of mbarriers counts as one.
    relaxes: bool,
    shapes: Shapes,
    /// The allocation that each instruction accessed last.
    last_allocations: Vec<u32>,
    shared: ShadowMemory,
    /// By allocation; none before the first access.
    global: Vec<Option<Box<Area>>>,
    /// Reads of allocations that have no shadow yet.
    read_lists: ReadLists,
    /// What other workers recorded, with the number of the allocation and their blocks.
    of_others: Vec<(usize, Box<Area>, Arc<Blocks>)>,
    /// What they listed, in the same way.
    lists_of_others: Vec<(usize, ReadList, Arc<Blocks>)>,
    /// Whether the kernel has copies to several blocks.
    is_multicast: bool,
    block: BlockState,
    /// Counts the writes to what several warps had read since the last barrier of the block.
    overwrites: u64,
    settled: SettledReads,
    deferred: DeferredReads,
    /// The stamp of the last write to shared memory.
    shared_written: u32,
    /// Bytes of shared memory that asynchronous operations of the block may access at any time.
    in_flight: u64,
    /// Whether there have been any in the launch.
    has_async: bool,
    sync_table: SyncTable,
    /// Strong writes, which race with plain reads.
    updates: Updates,
    stored: StoredValuesOf,
    /// By block: the blocks whose releases it has acquired, if any.
    seen: HashMap<u32, BlockSet>,
    /// In a cooperative launch: the blocks of which a thread has executed a fence.
    fenced: HashSet<u32>,
    tally: Tally,
    findings: Vec<Finding>,
}

/// The state of the block that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockState {
    pub clocks: Clocks,
    /// When the blocks began.
    pub blocks: Blocks,
    /// Index in the grid.
    pub index: u64,
    pub at: [u32; 3],
    /// Whether it has read what others may have released.
    pub acquired: bool,
    /// The blocks whose releases it has acquired.
    seen: BlockSet,
    /// Whether a thread has executed a fence.
    fenced: bool,
}

impl Racecheck {
    /// A race checker without findings.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found in the last launch.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What has been found so far of a launch that runs; races between blocks are found at its end.
    pub(super) fn findings_so_far(&self) -> Vec<Finding> {
        match self.tally.is_empty() {
            true => Vec::new(),
            false => self.judged(),
        }
    }

    /// Different problems so far.
    pub(super) fn noted(&self) -> usize {
        self.tally.len()
    }

    fn with_geometry(
        geometry: LaunchGeometry,
        semantics: Vec<Semantics>,
        sync_table: SyncTable,
        list_limit: usize,
    ) -> Self {
        let instructions = geometry
            .kernel
            .as_ref()
            .map_or(0, Kernel::instruction_count);
        let threads = geometry.block.iter().product();
        let start = recycled::first_stamp();
        let updates = Updates::of_kernel(geometry.kernel.as_ref());
        let is_multicast = semantics.iter().any(|semantics| semantics.is_multicast);
        Racecheck {
            is_multicast,
            level: Level::detect(),
            updates,
            synchronises: semantics.iter().any(|semantics| semantics.synchronises()),
            relaxes: semantics.iter().any(|semantics| semantics.arrives_relaxed),
            semantics,
            sync_table,
            shapes: Shapes::new(instructions),
            stored: StoredValuesOf::new(instructions),
            last_allocations: vec![0; instructions],
            shared: ShadowMemory::new(geometry.shared_of_group(), start),
            global: vec![None; geometry.allocations.len()],
            read_lists: ReadLists::new(geometry.allocations.len(), !is_multicast, list_limit),
            block: BlockState {
                clocks: Clocks::new(threads, geometry.group_blocks(), start),
                ..BlockState::default()
            },
            geometry,
            ..Racecheck::default()
        }
    }

    /// Lets the stamps start again before they run out: those of earlier blocks no longer matter.
    fn renew_stamps(&mut self) {
        if self.block.clocks.stamps_exhausted() {
            self.record_lists();
            for area in self.global.iter_mut().flatten() {
                area.settle(&self.block.blocks);
            }
            self.block.clocks.start_again();
            let number = block_number(self.block.index);
            self.block.blocks.restart(self.block.clocks.now, number);
            self.overwrites += 1;
            self.shared_written = 0;
            self.shared.clear();
            self.updates.forget();
            for area in self.global.iter_mut().flatten() {
                area.cells.clear();
                area.strong = 0;
            }
        }
    }

    /// Index of the allocation that holds `bytes` bytes at an address.
    #[inline(always)]
    fn allocation_index(
        &mut self,
        instruction: InstructionId,
        address: u64,
        bytes: u64,
    ) -> Option<usize> {
        self.geometry.allocation_index(
            &mut self.last_allocations[instruction.index()],
            address,
            bytes,
        )
    }

    /// The shadow of a block's shared memory, as seen from the warp `by`, or of an allocation.
    fn view(&mut self, space: Space, allocation: usize, by: u32) -> ShadowView<'_> {
        if !matches!(space, Space::Shared | Space::Cluster) && self.global[allocation].is_none() {
            self.begin_area(allocation);
        }
        let Racecheck {
            geometry,
            shared,
            global,
            block,
            overwrites,
            tally,
            level,
            ..
        } = self;
        let mut is_lazy = false;
        let (base, cells, cross_block, content) = match space {
            Space::Shared => (geometry.shared_start(by).wrapping_neg(), shared, None, None),
            Space::Cluster => (0, shared, None, None),
            _ => {
                let base = geometry.allocations[allocation].0;
                let Some(area) = &mut global[allocation] else {
                    unreachable!("`begin_area` has made it");
                };
                is_lazy = area.is_lazy;
                let content = geometry.contents.get(allocation);
                let content = content.filter(|content| content.base == base);
                let content = content.map(|content| &**content);
                (base, &mut area.cells, Some(&mut area.cross_block), content)
            }
        };
        ShadowView {
            space: match space {
                Space::Cluster => Space::Shared,
                space => space,
            },
            base,
            cells,
            cross_block,
            content,
            block,
            overwrites,
            tally,
            is_strong: false,
            is_lazy,
            level: *level,
        }
    }
}

/// The number of a block in [`CrossBlockRaces`]: 0 stands for none.
pub(super) fn block_number(index: u64) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

impl Racecheck {
    #[inline(always)]
    fn memory_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        if !matches!(access.space, Space::Shared | Space::Global) {
            if access.space == Space::Cluster {
                self.cluster_access(warp, access);
            }
            return;
        }
        let shape = self.shapes.of(access);
        let by = self.geometry.warp(warp);
        if access.strong {
            if self.geometry.is_cooperative && self.geometry.is_grid_barrier(access) {
                // It is told when all have arrived.
                return;
            }
            if access.space == Space::Shared {
                self.catch_up();
            }
            match self.synchronises {
                true => self.strong(by, access),
                false => {
                    self.note_strong(by, access);
                    self.irregular(by, access);
                }
            }
            return;
        }
        let is_copied =
            access.space == Space::Shared && self.semantics[access.instruction.index()].is_async;
        if is_copied {
            // `async_access` has it.
            return;
        }
        if self.list(by, access, shape) || self.defer(by, access, shape) {
            return;
        }
        self.stored.note(access);
        if access.space == Space::Shared && access.kind == AccessKind::Store {
            self.catch_up();
            self.shared_written = self.block.clocks.now;
        }
        if shape == Shape::Other || !self.regular(by, access, shape) {
            self.irregular(by, access);
        }
    }

    #[inline(always)]
    fn repeated_access(&mut self, warp: &WarpContext<'_>, access: RepeatedAccess<'_>) {
        if !matches!(access.space, Space::Shared | Space::Global) {
            return;
        }
        match access.kind {
            AccessKind::Load => _ = self.load(warp, &access),
            _ => access.expand(|access| self.memory_access(warp, access)),
        }
    }

    #[inline(always)]
    fn repeated_loads(&mut self, warp: &WarpContext<'_>, loads: &RepeatedLoads<'_>) {
        if self.defer_loads(warp, loads) {
            return;
        }
        let key = Key::new(loads, self.block.clocks.now, self.overwrites);
        if !self.settled.has(&key) {
            if self.list_loads(warp, loads, key) {
                return;
            }
            let by = self.geometry.warp(warp);
            let settled = self.broadcasts(by, loads).unwrap_or_else(|| {
                loads
                    .each()
                    .fold(true, |settled, access| self.load(warp, &access) & settled)
            });
            if settled {
                self.settled.keep(key);
            }
        }
    }
}

impl Observer for Racecheck {
    const INTEREST: Interest = Interest::LAUNCH
        .with(Interest::BLOCK)
        .with(Interest::ACCESS)
        .with(Interest::ASYNC_ACCESS)
        .with(Interest::FENCE)
        .with(Interest::PHASE)
        .with(Interest::WARP_SYNC)
        .with(Interest::BARRIER)
        .with(Interest::CLUSTER_BARRIER)
        .with(Interest::GRID_BARRIER);
    const UNORDERED_LOADS: bool = true;
    const STRONG_IN_ORDER: bool = true;

    fn fork(&self) -> Self {
        Self::with_geometry(
            self.geometry.clone(),
            self.semantics.clone(),
            self.sync_table.clone(),
            self.read_lists.limit(),
        )
    }

    fn join(&mut self, mut worker: Self) {
        worker.keep_seen();
        let blocks = Arc::new(std::mem::take(&mut worker.block.blocks));
        for (allocation, area) in worker.global.drain(..).enumerate() {
            if let Some(area) = area {
                self.of_others.push((allocation, area, Arc::clone(&blocks)));
            }
        }
        for (allocation, list) in worker.read_lists.take_all().into_iter().enumerate() {
            if !list.is_empty() {
                let list = (allocation, list, Arc::clone(&blocks));
                self.lists_of_others.push(list);
            }
        }
        // A worker has several observers where it has put blocks aside.
        self.of_others.append(&mut worker.of_others);
        self.lists_of_others.append(&mut worker.lists_of_others);
        // The areas of several workers are recycled together.
        let now = worker.block.clocks.now.max(self.block.clocks.now);
        self.block.clocks.now = now;
        worker.recycle();
        self.seen.extend(worker.seen);
        self.stored.merge(worker.stored);
        self.updates.guesses.extend(worker.updates.guesses);
        self.tally.merge(worker.tally);
    }

    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::LaunchStart(launch) => self.launch_start(launch),
            Event::LaunchEnd { fault, .. } => self.launch_end(fault),
            Event::BlockStart { block, .. } => self.block_start(block),
            Event::BlockResume { block, .. } => self.block_resume(block),
            Event::GridComplete { .. } => self.grid_complete(),
            Event::BlockEnd { block, .. } => self.block_end(block),
            Event::Access { warp, accesses } => {
                self.compare_reads(warp, accesses);
                match accesses.0 {
                    Form::Full(access) => self.memory_access(warp, access),
                    Form::Repeated(access) => self.repeated_access(warp, access),
                    Form::Loads(loads) => self.repeated_loads(warp, loads),
                }
            }
            Event::AsyncAccess { warp, access } => self.async_access(warp, access),
            Event::WarpgroupWait { warp, is_first } => self.warpgroup_wait(warp, is_first),
            Event::TensorCommit {
                warp,
                lane,
                address,
            } => {
                self.tensor_commit(warp, lane, address);
            }
            Event::TensorConflict {
                warp,
                lane,
                id,
                other,
                block,
                thread,
            } => self.tensor_conflict((warp, lane), id, (other, block, thread)),
            Event::Fence {
                warp,
                id,
                executing,
            } => self.fence(warp, id, executing),
            Event::PhaseComplete { address, .. } => self.phase_complete(address),
            Event::WarpSync { warp, sync } => self.warp_sync(warp, sync),
            Event::BarrierArrive {
                warp, id, barrier, ..
            } => self.barrier(warp, id, barrier),
            Event::BarrierComplete(barrier) => self.barrier_complete(barrier),
            Event::ClusterArrive { warp, id, arriving } => self.cluster_arrive(warp, id, arriving),
            Event::ClusterComplete { .. } => self.cluster_complete(),
            Event::ClusterWait { warp, passing, .. } => self.cluster_wait(warp, passing),
            _ => {}
        }
    }
}

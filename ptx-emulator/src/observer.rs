//! Watching an execution: the executor executes, observers see.

use std::fmt;

use crate::error::{Fault, LaunchError};
use crate::exec;
use crate::ir::{Register, Space, Store};
use crate::kernel::{Args, InstructionId, Kernel, LaunchConfig, Report};
use crate::memory::Memory;

/// A launch that begins or ends.
#[derive(Clone, Copy, Debug)]
pub struct LaunchContext<'a> {
    /// The kernel that runs.
    pub kernel: &'a Kernel,
    /// The memory that it runs on; the module's variables are in it.
    pub memory: &'a Memory,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; one where the launch names none.
    pub cluster: [u32; 3],
    /// Static and dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
}

/// The warp that an event comes from.
#[derive(Clone, Copy, Debug)]
pub struct WarpContext<'a> {
    /// The kernel that runs.
    pub kernel: &'a Kernel,
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Index of the warp in its block. Lane `l` of it is thread `32 * warp + l` of the block in
    /// linear order (x fastest).
    pub warp: u32,
    /// Number of the block in its cluster, x fastest; 0 in a launch without clusters.
    pub rank: u32,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes as one.
    Atomic,
}

/// One memory instruction of a warp.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// The instruction.
    pub instruction: InstructionId,
    /// The space accessed; never generic.
    pub space: Space,
    /// What it does.
    pub kind: AccessKind,
    /// Bytes that each lane accesses, all vector elements together.
    pub bytes: u32,
    /// The lanes that take part, one bit each.
    pub mask: u32,
    /// First address of each lane; those of lanes outside the mask mean nothing. Addresses of
    /// global and constant memory are generic, those of other spaces count from the space's start.
    pub addresses: &'a [u64; 32],
    /// Whether the executor knows that mask and distances between the addresses are those of the
    /// access that this observer last saw of the same instruction; it need not know.
    pub repeats_pattern: bool,
    /// Whether this is a strong operation (PTX ISA, "Memory Consistency Model"): an atomic, or a
    /// load or store marked volatile, relaxed, acquire or release.
    pub strong: bool,
    /// Of a store: what the lanes store.
    pub values: Option<StoredValues<'a>>,
}

/// How far an asynchronous operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has been asked for: from now on it may access the memory at any time.
    Issued,
    /// It is done, and the lanes that asked for it have waited for that.
    Waited,
    /// It is done, and the mbarrier at this address was told so: in shared memory, counted as in [`Space::Cluster`], which is
    /// the same in a launch without clusters.
    Signalled(u64),
}

/// The lanes of a warp that have asked for an asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// Each for its own access (`cp.async`).
    EachLane,
    /// This one, for all pieces (`cp.async.bulk.tensor`).
    Lane(u32),
    /// All lanes together (`wgmma`).
    Warp,
}

/// An access of an operation that runs beside the lanes of a warp: `cp.async`, `cp.async.bulk.tensor`, or `wgmma`.
///
/// Of global memory only the end is reported. An operation that is done accesses what it said when it began, or a part of
/// that; the rest follows.
///
/// The lanes of `cp.async` perform its accesses themselves, so [`Observer::memory_access`] has them as well, when they are
/// done. The others are those of the copy engine and of the tensor cores, and take nothing of the bandwidth that
/// `memory_access` is about.
#[derive(Clone, Copy, Debug)]
pub struct AsyncAccess<'a> {
    /// The access. Of a copy engine and a tensor core the addresses are those of neighbouring pieces, whatever lane has
    /// asked for them.
    pub access: MemoryAccess<'a>,
    /// Who has asked for it.
    pub issuer: Issuer,
    /// How far it has come.
    pub progress: Progress,
}

/// A weak load or store of all 32 lanes that is like the access that this observer last saw of the
/// same instruction: in the same space, with the same distances between the addresses.
///
/// Most accesses are like this, and what an observer wants to know of them, such as the sectors that
/// they touch, it knows from the last one and the first address.
#[derive(Clone, Copy, Debug)]
pub struct RepeatedAccess<'a> {
    /// The instruction.
    pub instruction: InstructionId,
    /// The space accessed; never generic.
    pub space: Space,
    /// What it does; no atomic.
    pub kind: AccessKind,
    /// Bytes that each lane accesses, all vector elements together.
    pub bytes: u32,
    /// The first address of lane 0, counted as in [`MemoryAccess::addresses`].
    pub first_address: u64,
    /// First address of each lane minus that of lane 0, modulo 2^64.
    pub distances: &'a [u64; 32],
    /// Of a store: what the lanes store.
    pub values: Option<StoredValues<'a>>,
}

impl RepeatedAccess<'_> {
    /// Calls `see` with all addresses.
    #[inline(always)]
    pub fn expand<R>(&self, see: impl FnOnce(&MemoryAccess<'_>) -> R) -> R {
        self.in_full(true, see)
    }

    #[inline(always)]
    pub(crate) fn in_full<R>(
        &self,
        repeats_pattern: bool,
        see: impl FnOnce(&MemoryAccess<'_>) -> R,
    ) -> R {
        let mut addresses = [self.first_address; 32];
        for (address, distance) in addresses.iter_mut().zip(self.distances) {
            *address = address.wrapping_add(*distance);
        }
        see(&MemoryAccess {
            instruction: self.instruction,
            space: self.space,
            kind: self.kind,
            bytes: self.bytes,
            mask: u32::MAX,
            addresses: &addresses,
            repeats_pattern,
            strong: false,
            values: self.values,
        })
    }
}

/// One of several loads of a basic block whose addresses are a register, the same for all of them, and an
/// offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupedLoad {
    /// The instruction.
    pub instruction: InstructionId,
    /// What it adds to the register.
    pub offset: i64,
    /// Bytes that each lane reads, all vector elements together.
    pub bytes: u32,
}

/// Loads of a basic block, each of which is a [`RepeatedAccess`]. A warp performs them without anything else
/// happening to memory from the first to the last, other loads left out.
#[derive(Clone, Copy, Debug)]
pub struct RepeatedLoads<'a> {
    /// Names the loads: the number is the same whenever they are.
    pub group: usize,
    /// The loads, in the kernel's order.
    pub loads: &'a [GroupedLoad],
    /// The space accessed; shared or global.
    pub space: Space,
    /// Lane 0's value of the register, counted as in [`MemoryAccess::addresses`].
    pub base: u64,
    /// Each lane's value minus that of lane 0, modulo 2^64.
    pub distances: &'a [u64; 32],
    /// Differs from the last time if `distances` do.
    pub version: u64,
}

impl<'a> RepeatedLoads<'a> {
    /// The loads one by one.
    pub fn each(&self) -> impl Iterator<Item = RepeatedAccess<'a>> + use<'a> {
        let (space, base, distances) = (self.space, self.base, self.distances);
        self.loads.iter().map(move |load| RepeatedAccess {
            instruction: load.instruction,
            space,
            kind: AccessKind::Load,
            bytes: load.bytes,
            first_address: base.wrapping_add_signed(load.offset),
            distances,
            values: None,
        })
    }
}

/// The values that the lanes of a warp store.
#[derive(Clone, Copy)]
pub struct StoredValues<'a> {
    pub(crate) regs32: &'a [[u32; 32]],
    pub(crate) regs64: &'a [[u64; 32]],
    pub(crate) store: &'a Store,
}

impl StoredValues<'_> {
    /// The elements of the vector that a lane stores, from the lowest address on.
    pub fn of_lane(&self, lane: usize) -> impl Iterator<Item = u64> + '_ {
        let kept = u64::MAX >> (64 - 8 * self.store.bytes.clamp(1, 8));
        self.store.sources.iter().map(move |source| match source {
            Register::Reg32(reg) => u64::from(self.regs32[reg.0 as usize][lane]) & kept,
            Register::Reg64(reg) => self.regs64[reg.0 as usize][lane] & kept,
            // There are no stores of predicates.
            Register::Predicate(_) => 0,
        })
    }
}

impl fmt::Debug for StoredValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = (0..32).map(|lane| self.of_lane(lane).collect::<Vec<u64>>());
        f.debug_list().entries(lanes).finish()
    }
}

/// What a `.sync` instruction of a warp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpSyncKind {
    /// `bar.warp.sync`, which also orders the memory accesses of its lanes.
    Barrier,
    /// `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync` or `elect.sync`: the lanes exchange
    /// values, and their memory accesses are not ordered.
    Exchange,
}

/// Lanes of a warp execute a `.sync` instruction together.
#[derive(Clone, Copy, Debug)]
pub struct WarpSync<'a> {
    /// The instruction.
    pub instruction: InstructionId,
    /// What it does.
    pub kind: WarpSyncKind,
    /// The lanes that execute it, one bit each.
    pub mask: u32,
    /// The member mask that each lane gives; those of lanes outside of `mask` mean nothing.
    pub members: &'a [u32; 32],
    /// Of a shuffle: the lane from which each lane reads; its own where that is out of range.
    pub sources: Option<&'a [u8; 32]>,
}

/// A barrier of a block for which all threads have arrived.
#[derive(Clone, Copy, Debug)]
pub struct BarrierComplete<'a> {
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Number of the block in its cluster.
    pub rank: u32,
    /// Which of the block's barriers.
    pub barrier: u32,
    /// The lanes of each warp that have arrived.
    pub arrived: &'a [u32],
    /// Whether it waited for all threads of the block that have not exited, not for a number of
    /// threads that the instruction gives.
    pub whole_block: bool,
}

/// Receives what happens during a launch.
///
/// Every worker thread has an observer of its own, made by [`Observer::fork`] and given back
/// through [`Observer::join`] in the order of the workers; a block runs on one worker from start to
/// end, and the blocks of a cluster do so in turn. All methods do nothing by default, and cost nothing then: the executor is compiled for each
/// observer.
#[allow(unused_variables)]
pub trait Observer: Send + Sized {
    /// Whether [`Observer::memory_access`] is called. An observer that does not look at memory says
    /// no, and the executor then does not put the addresses together.
    const ACCESSES: bool = true;

    /// Whether [`Observer::repeated_loads`] is called: where the order of a warp's loads between its stores does not
    /// matter to the observer.
    const LOAD_GROUPS: bool = false;

    /// Whether the observer tells the memory which bytes the kernel wrote
    /// ([`Memory::mark_written`]). After a launch under any other observer, all memory counts as
    /// written.
    const MARKS_WRITTEN: bool = false;

    /// Whether strong accesses to global memory are reported in the order in which they are performed, whichever workers
    /// do so. They then wait for each other.
    const STRONG_IN_ORDER: bool = false;

    /// An observer for one more worker.
    fn fork(&self) -> Self;

    /// A launch begins; called before any [`Observer::fork`].
    fn launch_start(&mut self, launch: &LaunchContext<'_>) {}

    /// A launch has ended, with a fault or without one; called after every [`Observer::join`].
    /// The fault is that of the lowest block that had one; blocks behind it may not have run.
    fn launch_end(&mut self, launch: &LaunchContext<'_>, fault: Option<&Fault>) {}

    /// Takes in what a worker's observer has seen.
    fn join(&mut self, worker: Self);

    /// A block starts; `block` is its index. The blocks of a cluster start, and end, one after the other by rank.
    fn block_start(&mut self, kernel: &Kernel, block: [u32; 3]) {}

    /// A block has ended without a fault.
    fn block_end(&mut self, kernel: &Kernel, block: [u32; 3]) {}

    /// The lanes `active` of a warp enter a basic block: all of its instructions will be issued,
    /// unless one faults. `block` indexes [`Kernel::basic_blocks`].
    fn basic_block(&mut self, warp: &WarpContext<'_>, block: usize, active: u32) {}

    /// An instruction is about to execute in the lanes `executing`, which may be none.
    fn instruction(&mut self, warp: &WarpContext<'_>, id: InstructionId, executing: u32) {}

    /// A predicated instruction is off in some lanes of its basic block.
    fn predicated_off(&mut self, warp: &WarpContext<'_>, id: InstructionId, off: u32) {}

    /// A warp accesses memory; called before bounds are checked.
    fn memory_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {}

    /// An asynchronous operation begins to access memory, or is done with it.
    fn async_access(&mut self, warp: &WarpContext<'_>, access: &AsyncAccess<'_>) {}

    /// The lanes `executing` are about to execute a fence (`fence`, `membar`), of whatever kind.
    fn fence(&mut self, warp: &WarpContext<'_>, id: InstructionId, executing: u32) {}

    /// The phase of the mbarrier at an address of shared memory, counted as in [`Space::Cluster`], is complete: what its last arrival or the last copy that it
    /// waited for, of this warp, has brought about. The next accesses that wait for it see so.
    fn phase_complete(&mut self, warp: &WarpContext<'_>, address: u64) {}

    /// A warp accesses memory as it did before: called in the place of [`Observer::memory_access`], to
    /// which it hands the access on unless the observer has a faster way. The access is in bounds.
    #[inline(always)]
    fn repeated_access(&mut self, warp: &WarpContext<'_>, access: RepeatedAccess<'_>) {
        access.expand(|access| self.memory_access(warp, access));
    }

    /// A warp is about to perform several loads as it did before: called in the place of
    /// [`Observer::repeated_access`] if the observer has [`Observer::LOAD_GROUPS`]. A fault between the loads,
    /// which ends the launch, leaves some of them undone.
    #[inline(always)]
    fn repeated_loads(&mut self, warp: &WarpContext<'_>, loads: &RepeatedLoads<'_>) {
        for access in loads.each() {
            self.repeated_access(warp, access);
        }
    }

    /// A conditional branch: the lanes that take it and those that do not. Of a `brx.idx`: the lanes
    /// that go where the first one goes, and the others.
    fn branch(&mut self, warp: &WarpContext<'_>, id: InstructionId, taken: u32, not_taken: u32) {}

    /// Lanes of a warp execute a `.sync` instruction together.
    fn warp_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {}

    /// Lanes arrive at a barrier of the block. They wait there unless the instruction is
    /// `bar.arrive`.
    fn barrier(&mut self, warp: &WarpContext<'_>, id: InstructionId, barrier: u32, arriving: u32) {}

    /// All threads that a barrier waits for have arrived.
    fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {}

    /// Lanes arrive at the barrier of their cluster.
    fn cluster_arrive(&mut self, warp: &WarpContext<'_>, id: InstructionId, arriving: u32) {}

    /// All threads of the cluster have arrived at its barrier.
    fn cluster_complete(&mut self, kernel: &Kernel) {}

    /// Lanes have waited for the barrier of their cluster and go on.
    fn cluster_wait(&mut self, warp: &WarpContext<'_>, id: InstructionId, passing: u32) {}

    /// The host reads memory after a launch. Whoever runs the launches says so, for what is a result;
    /// [`Memory::read`] does not.
    fn host_read(&mut self, memory: &Memory, address: u64, bytes: u64) {}

    /// Runs a launch under this observer: what [`Kernel::launch_observed`] does.
    ///
    /// The executor is compiled for each observer, in the crate that asks for it and with that
    /// crate's optimisation. An observer that provides this method itself, with the same body,
    /// settles this for all of its users: the crate is its own.
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run(self)
    }
}

/// A launch that is about to run; see [`Observer::launch`].
#[derive(Clone, Copy, Debug)]
pub struct ObservedLaunch<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) memory: &'a Memory,
    pub(crate) config: &'a LaunchConfig,
    pub(crate) args: &'a Args,
}

impl ObservedLaunch<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Kernel::launch_observed`].
    pub fn run<O: Observer>(self, observer: &mut O) -> Result<Report, LaunchError> {
        exec::launch(self.kernel, self.memory, self.config, self.args, observer)
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const ACCESSES: bool = false;

    fn fork(&self) -> Self {
        NoObserver
    }

    fn join(&mut self, _: Self) {}

    #[inline(never)]
    fn launch(&mut self, launch: ObservedLaunch<'_>) -> Result<Report, LaunchError> {
        launch.run(self)
    }
}

/// Two observers of one launch: both see everything, the first one first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACCESSES: bool = A::ACCESSES || B::ACCESSES;
    const LOAD_GROUPS: bool = A::LOAD_GROUPS && B::LOAD_GROUPS;
    const MARKS_WRITTEN: bool = A::MARKS_WRITTEN || B::MARKS_WRITTEN;
    const STRONG_IN_ORDER: bool = A::STRONG_IN_ORDER || B::STRONG_IN_ORDER;

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn launch_start(&mut self, launch: &LaunchContext<'_>) {
        self.0.launch_start(launch);
        self.1.launch_start(launch);
    }

    fn launch_end(&mut self, launch: &LaunchContext<'_>, fault: Option<&Fault>) {
        self.0.launch_end(launch, fault);
        self.1.launch_end(launch, fault);
    }

    fn join(&mut self, worker: Self) {
        self.0.join(worker.0);
        self.1.join(worker.1);
    }

    fn block_start(&mut self, kernel: &Kernel, block: [u32; 3]) {
        self.0.block_start(kernel, block);
        self.1.block_start(kernel, block);
    }

    fn block_end(&mut self, kernel: &Kernel, block: [u32; 3]) {
        self.0.block_end(kernel, block);
        self.1.block_end(kernel, block);
    }

    #[inline(always)]
    fn basic_block(&mut self, warp: &WarpContext<'_>, block: usize, active: u32) {
        self.0.basic_block(warp, block, active);
        self.1.basic_block(warp, block, active);
    }

    #[inline(always)]
    fn instruction(&mut self, warp: &WarpContext<'_>, id: InstructionId, executing: u32) {
        self.0.instruction(warp, id, executing);
        self.1.instruction(warp, id, executing);
    }

    fn predicated_off(&mut self, warp: &WarpContext<'_>, id: InstructionId, off: u32) {
        self.0.predicated_off(warp, id, off);
        self.1.predicated_off(warp, id, off);
    }

    #[inline(always)]
    fn memory_access(&mut self, warp: &WarpContext<'_>, access: &MemoryAccess<'_>) {
        self.0.memory_access(warp, access);
        self.1.memory_access(warp, access);
    }

    #[inline(always)]
    fn repeated_access(&mut self, warp: &WarpContext<'_>, access: RepeatedAccess<'_>) {
        self.0.repeated_access(warp, access);
        self.1.repeated_access(warp, access);
    }

    #[inline(always)]
    fn repeated_loads(&mut self, warp: &WarpContext<'_>, loads: &RepeatedLoads<'_>) {
        self.0.repeated_loads(warp, loads);
        self.1.repeated_loads(warp, loads);
    }

    fn async_access(&mut self, warp: &WarpContext<'_>, access: &AsyncAccess<'_>) {
        self.0.async_access(warp, access);
        self.1.async_access(warp, access);
    }

    fn fence(&mut self, warp: &WarpContext<'_>, id: InstructionId, executing: u32) {
        self.0.fence(warp, id, executing);
        self.1.fence(warp, id, executing);
    }

    fn phase_complete(&mut self, warp: &WarpContext<'_>, address: u64) {
        self.0.phase_complete(warp, address);
        self.1.phase_complete(warp, address);
    }

    #[inline(always)]
    fn branch(&mut self, warp: &WarpContext<'_>, id: InstructionId, taken: u32, not_taken: u32) {
        self.0.branch(warp, id, taken, not_taken);
        self.1.branch(warp, id, taken, not_taken);
    }

    fn warp_sync(&mut self, warp: &WarpContext<'_>, sync: &WarpSync<'_>) {
        self.0.warp_sync(warp, sync);
        self.1.warp_sync(warp, sync);
    }

    fn barrier(&mut self, warp: &WarpContext<'_>, id: InstructionId, barrier: u32, arriving: u32) {
        self.0.barrier(warp, id, barrier, arriving);
        self.1.barrier(warp, id, barrier, arriving);
    }

    fn barrier_complete(&mut self, barrier: &BarrierComplete<'_>) {
        self.0.barrier_complete(barrier);
        self.1.barrier_complete(barrier);
    }

    fn cluster_arrive(&mut self, warp: &WarpContext<'_>, id: InstructionId, arriving: u32) {
        self.0.cluster_arrive(warp, id, arriving);
        self.1.cluster_arrive(warp, id, arriving);
    }

    fn cluster_complete(&mut self, kernel: &Kernel) {
        self.0.cluster_complete(kernel);
        self.1.cluster_complete(kernel);
    }

    fn cluster_wait(&mut self, warp: &WarpContext<'_>, id: InstructionId, passing: u32) {
        self.0.cluster_wait(warp, id, passing);
        self.1.cluster_wait(warp, id, passing);
    }

    fn host_read(&mut self, memory: &Memory, address: u64, bytes: u64) {
        self.0.host_read(memory, address, bytes);
        self.1.host_read(memory, address, bytes);
    }
}

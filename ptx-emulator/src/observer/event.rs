//! The events of a launch, and the sets of events that observers want.

use super::access::{Accesses, AsyncAccess, MemoryAccess};
use crate::error::Fault;
use crate::ir::{Calls, InstructionId};
use crate::kernel::Kernel;
use crate::memory::Memory;

/// A launch that begins or ends.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LaunchContext<'a> {
    /// The kernel that runs.
    pub kernel: &'a Kernel,
    /// The memory that it runs on; the module's variables are in it.
    pub memory: &'a Memory,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; one in a launch without clusters.
    pub cluster: [u32; 3],
    /// Static and dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Whether it is a cooperative launch.
    pub cooperative: bool,
    /// The workspace of the grid's barrier, by address and bytes: of a cooperative launch whose
    /// kernel asks for it.
    pub(crate) workspace: Option<(u64, u64)>,
}

/// The warp that an event comes from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WarpContext<'a> {
    /// The kernel that runs.
    pub kernel: &'a Kernel,
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Index of the warp in its block. Lane `l` of it is thread `32 * warp + l` of the block in
    /// linear order (x fastest).
    pub warp: u32,
    /// Rank of the block in its cluster, or in the grid of a cooperative launch, x fastest; 0 in
    /// other launches.
    pub rank: u32,
    /// The calls of functions that lead to the instruction.
    pub(crate) calls: Calls,
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
#[non_exhaustive]
pub struct WarpSync<'a> {
    /// The instruction.
    pub instruction: InstructionId,
    /// What it does.
    pub kind: WarpSyncKind,
    /// The lanes that execute it, one bit each.
    pub mask: u32,
    /// The lanes that take part: those of `mask`, and those that do the same at other places.
    pub present: u32,
    /// Whether none of them has been reported before, nor gone on.
    pub is_first: bool,
    /// The member mask that each lane gives; those of lanes outside of `mask` mean nothing.
    pub members: &'a [u32; 32],
    /// Of a shuffle: the lane from which each lane reads; its own where that is out of range.
    pub sources: Option<&'a [u8; 32]>,
}

/// A barrier of a block at which all threads have arrived.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BarrierComplete<'a> {
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Rank of the block, as in [`WarpContext`].
    pub rank: u32,
    /// Which of the block's barriers.
    pub barrier: u32,
    /// The lanes of each warp that have arrived.
    pub arrived: &'a [u32],
    /// Whether it waited for all threads of the block that have not exited, not for a number of
    /// threads that the instruction gives.
    pub whole_block: bool,
}

/// Something that happens during a launch.
///
/// Masks have one bit per lane.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A launch begins; comes before any [`Observer::fork`](super::Observer::fork).
    LaunchStart(&'a LaunchContext<'a>),
    /// A launch has ended; comes after every [`Observer::join`](super::Observer::join).
    LaunchEnd {
        /// The launch.
        launch: &'a LaunchContext<'a>,
        /// The fault of the lowest block that had one; later blocks may not have run.
        fault: Option<&'a Fault>,
    },
    /// A block starts. The blocks of a cluster, and those of a cooperative launch, start, and end,
    /// one after the other by rank.
    BlockStart {
        /// The kernel that runs.
        kernel: &'a Kernel,
        /// Index of the block in the grid.
        block: [u32; 3],
    },
    /// A block has ended without a fault.
    BlockEnd {
        /// The kernel that runs.
        kernel: &'a Kernel,
        /// Index of the block in the grid.
        block: [u32; 3],
    },
    /// In a cooperative launch: the worker goes on with another block of the grid, which has
    /// started and not ended. What follows is of that block.
    BlockResume {
        /// The kernel that runs.
        kernel: &'a Kernel,
        /// Index of the block in the grid.
        block: [u32; 3],
    },
    /// Lanes of a warp enter a basic block: all of its instructions will be issued, unless one
    /// faults.
    BasicBlock {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// Index in [`Kernel::basic_blocks`].
        block: usize,
        /// The lanes that enter.
        active: u32,
    },
    /// An instruction is about to execute.
    Instruction {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// The lanes that execute it, which may be none.
        executing: u32,
    },
    /// A predicated instruction is off in some lanes of its basic block.
    PredicatedOff {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// The lanes in which it is off.
        off: u32,
    },
    /// A warp accesses memory; comes before bounds are checked.
    Access {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The accesses.
        accesses: Accesses<'a>,
    },
    /// A warp stores to the shared memory of a block of its cluster whose threads have all exited,
    /// or arrives at an mbarrier there. It takes no effect.
    EndedBlockAccess {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The access, of the lanes whose block has ended.
        access: &'a MemoryAccess<'a>,
    },
    /// An asynchronous operation is issued, or is complete.
    AsyncAccess {
        /// The warp that issued it.
        warp: &'a WarpContext<'a>,
        /// The access.
        access: &'a AsyncAccess<'a>,
    },
    /// A warp has waited for groups of MMAs of its warpgroup (`wgmma.wait_group`).
    WarpgroupWait {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// Whether it is the first of its warpgroup to do so: what precedes are the accesses of
        /// these groups, by whichever warp.
        is_first: bool,
    },
    /// What a thread has issued on tensor memory before a `tcgen05.commit` is complete, and an
    /// mbarrier is told so. [`Event::AsyncAccess`] reports what it read of shared memory before the
    /// first one that is told.
    TensorCommit {
        /// The warp of the thread.
        warp: &'a WarpContext<'a>,
        /// Its lane.
        lane: u32,
        /// Address of the mbarrier, as in [`Event::PhaseComplete`].
        address: u64,
    },
    /// A thread moves words from or to tensor memory, or issues an operation on them, while another
    /// operation on them, which a thread has issued, is not complete.
    TensorConflict {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// Its lane, of a move the first one.
        lane: u32,
        /// The instruction that is too early.
        id: InstructionId,
        /// The instruction that has issued the operation.
        other: InstructionId,
        /// Index in the grid of the block that has issued it.
        block: [u32; 3],
        /// The thread that has issued it, in the linear order of its block.
        thread: u32,
    },
    /// Lanes are about to execute a fence (`fence`, `membar`) of any kind.
    Fence {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// The lanes that execute it.
        executing: u32,
    },
    /// The phase of an mbarrier is complete. The next accesses that wait for it observe this.
    PhaseComplete {
        /// The warp of the last arrival, or of the last copy that the phase waited for.
        warp: &'a WarpContext<'a>,
        /// Address of the mbarrier in shared memory, counted as in
        /// [`Space::Cluster`](crate::Space::Cluster).
        address: u64,
    },
    /// A conditional branch, or `brx.idx`.
    Branch {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// The lanes that take it. Of a `brx.idx`: those that go where the first one goes.
        taken: u32,
        /// The other lanes.
        not_taken: u32,
    },
    /// Lanes of a warp execute a `.sync` instruction together.
    WarpSync {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction and its lanes.
        sync: &'a WarpSync<'a>,
    },
    /// Lanes arrive at a barrier of the block. They wait there unless the instruction is
    /// `bar.arrive`.
    BarrierArrive {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// Which of the block's barriers.
        barrier: u32,
        /// The lanes that arrive.
        arriving: u32,
    },
    /// All threads that a barrier waits for have arrived.
    BarrierComplete(&'a BarrierComplete<'a>),
    /// Lanes arrive at the barrier of their cluster.
    ClusterArrive {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// The lanes that arrive.
        arriving: u32,
    },
    /// All threads of the cluster have arrived at its barrier.
    ClusterComplete {
        /// The kernel that runs.
        kernel: &'a Kernel,
    },
    /// Lanes have waited for the barrier of their cluster and go on.
    ClusterWait {
        /// The warp.
        warp: &'a WarpContext<'a>,
        /// The instruction.
        id: InstructionId,
        /// The lanes that go on.
        passing: u32,
    },
    /// All blocks of a cooperative launch have arrived at the barrier of the grid
    /// (`cooperative_groups::this_grid().sync()`).
    GridComplete {
        /// The kernel that runs.
        kernel: &'a Kernel,
    },
    /// The host reads results after a launch. The caller of the launches reports this;
    /// [`Memory::read`] does not.
    HostRead {
        /// The memory.
        memory: &'a Memory,
        /// First address.
        address: u64,
        /// Bytes read.
        bytes: u64,
    },
}

impl Event<'_> {
    /// The kind of the event, as a set of one.
    #[inline(always)]
    pub const fn kind(&self) -> Interest {
        match self {
            Event::LaunchStart(_) | Event::LaunchEnd { .. } => Interest::LAUNCH,
            Event::BlockStart { .. } | Event::BlockEnd { .. } | Event::BlockResume { .. } => {
                Interest::BLOCK
            }
            Event::BasicBlock { .. } => Interest::BASIC_BLOCK,
            Event::Instruction { .. } => Interest::INSTRUCTION,
            Event::PredicatedOff { .. } => Interest::PREDICATED_OFF,
            Event::Access { .. } | Event::EndedBlockAccess { .. } => Interest::ACCESS,
            Event::AsyncAccess { .. }
            | Event::WarpgroupWait { .. }
            | Event::TensorCommit { .. }
            | Event::TensorConflict { .. } => Interest::ASYNC_ACCESS,
            Event::Fence { .. } => Interest::FENCE,
            Event::PhaseComplete { .. } => Interest::PHASE,
            Event::Branch { .. } => Interest::BRANCH,
            Event::WarpSync { .. } => Interest::WARP_SYNC,
            Event::BarrierArrive { .. } | Event::BarrierComplete(_) => Interest::BARRIER,
            Event::ClusterArrive { .. }
            | Event::ClusterComplete { .. }
            | Event::ClusterWait { .. } => Interest::CLUSTER_BARRIER,
            Event::GridComplete { .. } => Interest::GRID_BARRIER,
            Event::HostRead { .. } => Interest::HOST_READ,
        }
    }
}

/// A set of kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(u32);

impl Interest {
    /// No event.
    pub const NONE: Interest = Interest(0);
    /// Every event, also of kinds that later versions add.
    pub const ALL: Interest = Interest(u32::MAX);
    /// [`Event::LaunchStart`] and [`Event::LaunchEnd`].
    pub const LAUNCH: Interest = Interest(1);
    /// [`Event::BlockStart`], [`Event::BlockEnd`] and [`Event::BlockResume`].
    pub const BLOCK: Interest = Interest(1 << 1);
    /// [`Event::BasicBlock`].
    pub const BASIC_BLOCK: Interest = Interest(1 << 2);
    /// [`Event::Instruction`].
    pub const INSTRUCTION: Interest = Interest(1 << 3);
    /// [`Event::PredicatedOff`].
    pub const PREDICATED_OFF: Interest = Interest(1 << 4);
    /// [`Event::Access`] and [`Event::EndedBlockAccess`].
    pub const ACCESS: Interest = Interest(1 << 5);
    /// [`Event::AsyncAccess`], [`Event::WarpgroupWait`], [`Event::TensorCommit`] and
    /// [`Event::TensorConflict`].
    pub const ASYNC_ACCESS: Interest = Interest(1 << 6);
    /// [`Event::Fence`].
    pub const FENCE: Interest = Interest(1 << 7);
    /// [`Event::PhaseComplete`].
    pub const PHASE: Interest = Interest(1 << 8);
    /// [`Event::Branch`].
    pub const BRANCH: Interest = Interest(1 << 9);
    /// [`Event::WarpSync`].
    pub const WARP_SYNC: Interest = Interest(1 << 10);
    /// [`Event::BarrierArrive`] and [`Event::BarrierComplete`].
    pub const BARRIER: Interest = Interest(1 << 11);
    /// [`Event::ClusterArrive`], [`Event::ClusterComplete`] and [`Event::ClusterWait`].
    pub const CLUSTER_BARRIER: Interest = Interest(1 << 12);
    /// [`Event::HostRead`].
    pub const HOST_READ: Interest = Interest(1 << 13);
    /// [`Event::GridComplete`].
    pub const GRID_BARRIER: Interest = Interest(1 << 14);

    /// The events of either set.
    #[inline(always)]
    pub const fn with(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// Whether all events of `other` belong to this set.
    #[inline(always)]
    pub const fn contains(self, other: Interest) -> bool {
        self.0 & other.0 == other.0
    }
}

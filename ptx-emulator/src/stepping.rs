//! Stepping: an observer that runs a kernel instruction by instruction, and looks at everything
//! that its threads have.
//!
//! An [`Observer`](crate::Observer) with [`STEPS`](crate::Observer::STEPS) is asked before each
//! instruction what to do next, and gets a [`Paused`] launch to look at: registers, shared memory,
//! barriers, and where each warp is. The kernel comes from
//! [`Module::kernel_for_stepping`](crate::Module::kernel_for_stepping).
//!
//! ```
//! use ptx_emulator::stepping::{Paused, Resume};
//! use ptx_emulator::{Args, Event, Interest, LaunchConfig, Memory, Module, Observer};
//!
//! /// Writes down each instruction, with what lane 3 has in `%r1` before it.
//! struct Trace(Vec<(u32, Option<u64>)>);
//!
//! impl Observer for Trace {
//!     const INTEREST: Interest = Interest::NONE;
//!     const STEPS: bool = true;
//!
//!     fn paused(&mut self, paused: &dyn Paused) -> Resume {
//!         if let Some(step) = paused.step() {
//!             let group = &paused.groups(step.rank, step.warp)[step.group];
//!             let value = paused.register(step.rank, step.warp, group, "%r1");
//!             let line = paused.kernel().instruction(step.instruction).line();
//!             self.0.push((line, value.and_then(|value| value.lane(3))));
//!         }
//!         Resume::Run
//!     }
//!
//!     fn fork(&self) -> Self {
//!         Trace(Vec::new())
//!     }
//!     fn join(&mut self, worker: Self) {
//!         self.0.extend(worker.0);
//!     }
//!     fn event(&mut self, _: Event<'_>) {}
//! }
//!
//! let text = ".version 7.0\n.target sm_70\n.address_size 64\n\
//!     .visible .entry k() {\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;\nret;\n}";
//! let kernel = Module::parse(text)?.kernel_for_stepping("k")?;
//! let config = LaunchConfig::new([1, 1, 1], [32, 1, 1]);
//! let mut trace = Trace(Vec::new());
//! kernel.launch_observed(&Memory::with_capacity(1 << 20), &config, &Args::new(), &mut trace)?;
//! assert_eq!(trace.0, [(6, None), (7, Some(3))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::Fault;
use crate::ir::InstructionId;
use crate::kernel::Kernel;
use crate::memory::Memory;

/// What happens after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The lanes run what they are about to run.
    Run,
    /// The warp of this index in the same block runs first. The lanes that were about to run stay
    /// where they are, and their warp has its turn after those behind the one named. An index
    /// beyond the last warp names that one. Where the warp waits, or has exited, the next one that
    /// can has its turn; an observer that always asks for such a warp lets no other run.
    Warp(u32),
    /// The launch ends, in [`LaunchError::Stopped`](crate::LaunchError::Stopped).
    Stop,
}

/// What is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Rank of the block in its cluster; 0 in a launch without clusters.
    pub rank: u32,
    /// Index of the warp in its block.
    pub warp: u32,
    /// Index of the lanes in [`Paused::groups`] of the warp.
    pub group: usize,
    /// The lanes, one bit each.
    pub lanes: u32,
    /// The instruction that they have not executed yet.
    pub instruction: InstructionId,
}

/// Why lanes do not run, or that they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneState {
    /// They can run.
    Ready,
    /// They wait for more lanes of the member mask of a `.sync` instruction.
    Members,
    /// They wait at the barrier of the block with this number.
    Barrier(u32),
    /// They wait for a phase of an mbarrier.
    Mbarrier {
        /// Rank of the block whose shared memory holds it.
        rank: u32,
        /// Its address there.
        address: u32,
    },
    /// They wait for the barrier of the cluster.
    Cluster,
    /// They wait for MMAs of the other warps of their warpgroup (`wgmma.wait_group`).
    Warpgroup,
    /// They wait for columns of tensor memory (`tcgen05.alloc`).
    TensorColumns,
}

/// Lanes of a warp that are at one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneGroup {
    /// The lanes, one bit each.
    pub lanes: u32,
    /// The instruction that they execute next, or wait in.
    pub instruction: Option<InstructionId>,
    /// Whether they wait.
    pub state: LaneState,
    /// The calls that lead to the instruction, the innermost first.
    pub calls: Vec<InstructionId>,
    pub(crate) frame: u32,
}

/// A barrier of a block at which lanes have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockBarrier {
    /// Its number.
    pub barrier: u32,
    /// By warp: the lanes that have arrived.
    pub arrived: Vec<u32>,
    /// The threads that it waits for: those that the instruction names, else all that have not
    /// exited.
    pub expected: u32,
}

impl BlockBarrier {
    /// The threads that have arrived.
    pub fn arrived_threads(&self) -> u32 {
        self.arrived.iter().map(|mask| mask.count_ones()).sum()
    }
}

/// An mbarrier object (PTX ISA, "mbarrier").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MbarrierState {
    /// Parity of the phase that is not complete, 0 or 1.
    pub parity: u32,
    /// Arrivals that the phase still waits for.
    pub pending: u32,
    /// Arrivals that each phase needs.
    pub expected: u32,
    /// Bytes of asynchronous copies that the phase still waits for.
    pub pending_bytes: i64,
}

/// The value of a register in the lanes of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisterValue {
    /// Its name.
    pub name: String,
    /// Its declared type without the dot, such as `b32` or `pred`; `u32` of a special register.
    pub ty: String,
    /// Bits of a value: 1 of a predicate, else 8 to 64.
    pub bits: u32,
    /// By lane, with zeros above the register's bits.
    pub values: [u64; 32],
    /// The lanes in which it has been written.
    pub written: u32,
}

impl RegisterValue {
    /// The value in one lane; none where nothing was written to it yet, or there is no such lane.
    pub fn lane(&self, lane: u32) -> Option<u64> {
        let is_written = self.written.checked_shr(lane).unwrap_or(0) & 1 != 0;
        is_written.then(|| self.values[lane as usize])
    }
}

/// A launch that is paused: before a step, or at a fault.
///
/// Blocks run one after the other, or those of a cluster in turn; a block of the cluster is named
/// by its rank. Methods give `None`, or nothing, for a rank, warp or name that there is not.
pub trait Paused {
    /// The kernel.
    fn kernel(&self) -> &Kernel;

    /// Global memory; the module's variables are in it.
    fn memory(&self) -> &Memory;

    /// Blocks of the grid.
    fn grid(&self) -> [u32; 3];

    /// Threads of a block.
    fn block_extents(&self) -> [u32; 3];

    /// The values of the kernel's parameters, each at its
    /// [`Param::offset`](crate::Param::offset).
    fn params(&self) -> &[u8];

    /// What runs next; none at a fault.
    fn step(&self) -> Option<Step>;

    /// The fault that has ended the launch.
    fn fault(&self) -> Option<&Fault>;

    /// The blocks that have begun and not ended, by rank.
    fn blocks(&self) -> Vec<[u32; 3]>;

    /// The rank of the block that runs.
    fn rank(&self) -> u32;

    /// Warps of a block.
    fn warps(&self) -> u32;

    /// The lanes of a warp that have not exited.
    fn live(&self, rank: u32, warp: u32) -> u32;

    /// The lanes of a warp that have not exited, by where they are.
    fn groups(&self, rank: u32, warp: u32) -> Vec<LaneGroup>;

    /// The registers that the text declares around the instruction of some lanes and uses, in the
    /// order of their names; none of a kernel that is not decoded for stepping.
    fn registers(&self, rank: u32, warp: u32, group: &LaneGroup) -> Vec<RegisterValue>;

    /// A register by its name, or a special register: `%r1`, `%tid.x`.
    fn register(
        &self,
        rank: u32,
        warp: u32,
        group: &LaneGroup,
        name: &str,
    ) -> Option<RegisterValue>;

    /// The barriers of a block at which lanes have arrived that wait for others.
    fn barriers(&self, rank: u32) -> Vec<BlockBarrier>;

    /// Bytes of a block's shared memory.
    fn shared_bytes(&self) -> u32;

    /// A byte of a block's shared memory.
    fn shared_byte(&self, rank: u32, address: u32) -> Option<u8>;

    /// The mbarrier at an address of a block's shared memory; none where there is no valid one.
    fn mbarrier(&self, rank: u32, address: u32) -> Option<MbarrierState>;
}

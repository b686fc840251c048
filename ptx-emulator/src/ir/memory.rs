//! Spaces, addresses, loads, stores and atomics.

use super::{InstructionId, Reg32, Reg64, Register};
use ptx_syntax::ast::Type;

/// A space that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Space {
    /// No space in the instruction: the address decides.
    Generic,
    /// Device memory.
    Global,
    /// The block's shared memory.
    Shared,
    /// The shared memory of the blocks of a cluster (`.shared::cluster`). An address is the block's
    /// rank, times 2^24, plus the address in its shared memory.
    Cluster,
    /// A thread's own memory.
    Local,
    /// Read-only device memory.
    Const,
    /// The kernel's parameters.
    Param,
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Cluster => "cluster",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "parameter",
        })
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one atomic operation.
    Atomic,
}

impl AccessKind {
    /// `load`, `store` or `atomic`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
        }
    }
}

impl std::fmt::Display for AccessKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The base of an access's address, to which its constant offset is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressBase {
    None,
    Reg32(Reg32),
    Reg64(Reg64),
    /// The local memory of the current function's frame.
    Frame,
}

/// The address of a memory access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub space: Space,
    pub base: AddressBase,
    pub offset: i64,
    /// Accesses of a basic block with the same value of their base have the same lane offsets; 0
    /// where the base is the same for all lanes.
    pub offsets: u32,
    /// Whether it has the rank of the block above its offset in the block's shared memory.
    pub has_rank: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub address: Address,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub bytes: u32,
    pub signed: bool,
    /// One register per element; none for a discarded element (`_`).
    pub destinations: Vec<Option<Register>>,
    /// The destination where there is just one element.
    pub single: Option<Register>,
    /// Bits of the destination registers.
    pub register_bits: u32,
    /// Volatile, relaxed, acquire.
    pub strong: bool,
    /// Strong, or one element of 64 bits past the L1 cache: no other block sees a half of it.
    pub whole: bool,
    /// Weak and not whole, with elements of 4 or 8 bytes: the fast paths may do it.
    pub plain: bool,
    pub acquire: bool,
    /// The bytes of the access, one bit each, whose value is read from a register later.
    pub used: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub address: Address,
    pub bytes: u32,
    pub sources: Vec<Register>,
    pub strong: bool,
    /// As [`Load::whole`].
    pub whole: bool,
    /// As [`Load::plain`].
    pub plain: bool,
    pub release: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicFunction {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    /// `inc`: wraps to 0 above the operand.
    Increment,
    /// `dec`: wraps to the operand below 0.
    Decrement,
}

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub address: Address,
    pub function: AtomicFunction,
    pub ty: Type,
    /// None for `red`.
    pub destination: Option<Register>,
    pub operand: Register,
    /// The new value of `cas`.
    pub second: Option<Register>,
}

/// An operation on 128 bits at once: `atom.b128`, and strong `ld.b128` and `st.b128`.
#[derive(Clone, Debug)]
pub(crate) struct WideAtomic {
    pub address: Address,
    pub function: WideFunction,
    /// The lower and the upper half of the operand.
    pub operand: Option<[Reg64; 2]>,
    /// The new value of `cas`.
    pub second: Option<[Reg64; 2]>,
    pub destination: Option<[Reg64; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WideFunction {
    Load,
    Store,
    Exchange,
    CompareExchange,
}

/// `alloca`: local memory of a function whose size is known when it runs.
#[derive(Clone, Debug)]
pub(crate) struct Alloca {
    pub destination: Register,
    pub bytes: Register,
    pub align: u32,
    /// Bytes that the function has taken.
    pub taken: Reg32,
    /// The frame's bytes for this, from their first one.
    pub start: u32,
}

/// Bytes of local memory that all `alloca` of a call may take.
pub(crate) const ALLOCA_BYTES: u32 = 16 * 1024;

/// One of several loads of a basic block whose addresses are the same register plus an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupedLoad {
    /// The instruction.
    pub instruction: InstructionId,
    /// What it adds to the register.
    pub offset: i64,
    /// Bytes that each lane reads, all vector elements together.
    pub bytes: u32,
}

//! The decoded form of a kernel: compact operations over 32-lane registers, in basic blocks.
//!
//! Registers are held in three files per function: 32-bit registers (values of 8 to 32 bits,
//! zero-extended), 64-bit registers, and predicates (one bit per lane). Constants, kernel
//! parameters and special registers are registers too, filled before the code runs, so that every
//! operand is an index.

mod asynchronous;
mod constant;
mod control;
mod instruction;
mod lane;
mod matrix;
mod memory;
mod micro_op;
mod symbols;
mod system;
mod tensor_memory;
mod texture;

pub(crate) use asynchronous::{
    AsyncCopy, BarrierAction, BarrierObject, BulkCopy, BulkData, BulkDirection, MapAction, MapEdit,
    MapField, PENDING_BITS, Phase,
};
pub(crate) use constant::{Constant, Half, LaneMask, Special};
pub(crate) use control::{Barrier, BarrierKind, Call, CallTarget, Terminator};
pub(crate) use instruction::{Calls, Info};
pub use instruction::{InstructionClass, InstructionId, SourceLocation};
pub(crate) use lane::{
    Conversion, FloatFormat, FloatFunction, FloatProperty, IntegerFunction, LaneFunction, LaneOp,
    Part, PartsFunction, PermuteMode, RandomRounding, Rounding, SecondOperation, SmallConversion,
    SmallFloat, Video, VideoComparison, VideoFunction, VideoParts, VideoProduct, is_float,
};
pub(crate) use matrix::{
    Matrix, MatrixInputs, MatrixMove, MatrixTile, Mma, RowPacking, Scales, Sparsity, Sums, Wgmma,
    WgmmaA, Wmma, WmmaMove,
};
pub(crate) use memory::{
    ALLOCA_BYTES, Address, AddressBase, Alloca, Atomic, AtomicFunction, GroupedLoad, Load, Store,
    WideAtomic, WideFunction,
};
pub use memory::{AccessKind, Space};
pub(crate) use micro_op::{Code, MicroOp, Written as WrittenRows};
pub(crate) use symbols::{FunctionSymbol, Label, NamedRegister, Symbols, Written};
pub(crate) use system::{SystemCall, SystemFunction};
pub(crate) use tensor_memory::{
    CopyLanes, TensorA, TensorAction, TensorCopy, TensorInstruction, TensorKind, TensorMma,
    TensorMove, TensorShape,
};
pub(crate) use texture::{ImageQuery, Level, Outside, TexelResult, TextureAction, TextureOp};

use ptx_syntax::ast::{LineTable, Variable};
use rustc_hash::FxHashMap;

/// A word register: 32 lanes of up to 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reg32(pub u32);

/// A double register: 32 lanes of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reg64(pub u32);

/// A predicate register: one bit per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Predicate(pub u32);

/// A register of any file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Register {
    Reg32(Reg32),
    Reg64(Reg64),
    Predicate(Predicate),
}

/// Operations on words that have a vectorised implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Neg,
    FloatNeg,
    FloatAbs,
}

/// Two-operand operations that have a vectorised implementation for words and doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    MulHighUnsigned,
    MulHighSigned,
    And,
    Or,
    Xor,
    MinUnsigned,
    MinSigned,
    MaxUnsigned,
    MaxSigned,
    FloatAdd,
    FloatSub,
    FloatMul,
    FloatDiv,
    FloatMin,
    FloatMax,
}

/// Shifts: the amount is a word, clamped at the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    Left,
    RightUnsigned,
    RightSigned,
}

/// Three-operand operations that have a vectorised implementation for words and doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ternary {
    MulAdd,
    FloatFma,
}

/// Comparisons; the others follow by swapping operands and negating the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    LessSigned,
    LessUnsigned,
    FloatEqual,
    /// Ordered and not equal.
    FloatNotEqual,
    FloatLess,
    FloatLessEqual,
    FloatUnordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredicateOp {
    And,
    Or,
    Xor,
}

/// How `shfl.sync` picks the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// Operation of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduceMode {
    Add,
    And,
    Or,
    Xor,
    MinUnsigned,
    MinSigned,
    MaxUnsigned,
    MaxSigned,
    /// `min` and `max` of f32.
    Float {
        greatest: bool,
        /// `.abs`: of magnitudes.
        magnitudes: bool,
        /// `.NaN`: a NaN wins.
        nan_wins: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Cycles: the instructions that the worker has issued.
    Clock,
    /// Nanoseconds since the launch.
    Nanoseconds,
}

/// One operation. Large operands are stored in side tables of the [`Program`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Move32(Reg32, Reg32),
    Move64(Reg64, Reg64),
    MovePredicate(Predicate, Predicate),
    Unary32(Unary, Reg32, Reg32),
    Unary64(Unary, Reg64, Reg64),
    Binary32(Binary, Reg32, Reg32, Reg32),
    Binary64(Binary, Reg64, Reg64, Reg64),
    Shift32(Shift, Reg32, Reg32, Reg32),
    Shift64(Shift, Reg64, Reg64, Reg32),
    Ternary32(Ternary, Reg32, Reg32, Reg32, Reg32),
    Ternary64(Ternary, Reg64, Reg64, Reg64, Reg64),
    /// Full product of two 32-bit registers; `true` where signed.
    MulWide(bool, Reg64, Reg32, Reg32),
    /// Full product of two 32-bit registers plus a 64-bit one.
    MulAddWide(bool, Reg64, Reg32, Reg32, Reg64),
    /// Zero- or sign-extension (`true`).
    Widen(bool, Reg64, Reg32),
    /// The low half.
    Narrow(Reg32, Reg64),
    Pack(Reg64, Reg32, Reg32),
    Unpack(Reg32, Reg32, Reg64),
    Compare32(Comparison, bool, Predicate, Reg32, Reg32),
    Compare64(Comparison, bool, Predicate, Reg64, Reg64),
    Select32(Reg32, Reg32, Reg32, Predicate),
    Select64(Reg64, Reg64, Reg64, Predicate),
    PredicateBinary(PredicateOp, Predicate, Predicate, Predicate),
    PredicateNot(Predicate, Predicate),
    /// Evaluated lane by lane; index into `Program::lane_ops`.
    Lane(u32),
    /// The local-space address of a variable in the current frame.
    LocalAddress(Reg64, u32),
    Load(u32),
    Store(u32),
    Atomic(u32),
    /// Index into `Program::wide_atomics`.
    WideAtomic(u32),
    /// Index into `Program::allocas`.
    Alloca(u32),
    /// Index into `Program::map_edits`.
    MapEdit(u32),
    Shuffle(u32),
    Vote(VoteMode, Register, Predicate),
    /// `match.any.sync`: the lanes that hold the same value.
    MatchAny(Reg32, Register),
    /// `match.all.sync`: the mask if all lanes agree, else 0; and whether they do.
    MatchAll(Reg32, Option<Predicate>, Register),
    Reduce(ReduceMode, Reg32, Reg32),
    /// `elect.sync`: the elected lane and a predicate that is true for it alone.
    Elect(Option<Reg32>, Predicate),
    ActiveMask(Reg32),
    ReadTimer(Timer, Register),
    Fence,
    /// `cp.async`: index into `Program::async_copies`.
    AsyncCopy(u32),
    /// `cp.async.commit_group`.
    AsyncCommit,
    /// `cp.async.wait_group`: waits for all but this number of the newest groups; `wait_all` where
    /// there is none.
    AsyncWait(Option<u32>),
    /// Index into `Program::matrices`.
    Matrix(u32),
    /// `wgmma.commit_group`.
    WarpgroupCommit,
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
    /// Index into `Program::textures`.
    Texture(u32),
    /// A function that the driver provides: index into `Program::system_calls`.
    System(u32),
    /// Costs an issue slot and does nothing: `nanosleep`, prefetches.
    Nothing,
}

/// The predicate that decides which lanes execute an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub predicate: Predicate,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst {
    pub op: Op,
    pub guard: Option<Guard>,
    /// Index into `Program::info`; several operations may belong to one PTX instruction.
    pub info: u32,
    /// Whether this is the first operation of its PTX instruction.
    pub first: bool,
    /// Whether it is one of the operations that dominate a kernel's time, without a guard: a fused
    /// multiply-add of floats, or a load whose base register is that of an access before it in the
    /// block, and unchanged.
    pub frequent: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    pub mode: ShuffleMode,
    pub destination: Reg32,
    /// Whether the source lane was in range.
    pub in_range: Option<Predicate>,
    pub value: Reg32,
    pub lane: Reg32,
    pub clamp: Reg32,
}

/// A straight run of operations.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Range of `Program::code`.
    pub start: u32,
    pub end: u32,
    /// PTX instructions in the block, its terminator included.
    pub instructions: u32,
    pub terminator: Terminator,
    /// The terminator's PTX instruction; none where the decoder made the jump.
    pub terminator_info: Option<u32>,
    /// The block may only be entered by all lanes of this mask at once (`.sync` operations).
    pub members: Option<Reg32>,
}

/// One function of a program.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub entry: u32,
    pub regs32: u32,
    pub regs64: u32,
    pub predicates: u32,
    pub constants32: Vec<(Reg32, Constant)>,
    pub constants64: Vec<(Reg64, Constant)>,
    /// Where in both lists those begin that differ between blocks; the others stand before them.
    pub block_constants: [usize; 2],
    pub predicate_constants: Vec<(Predicate, bool)>,
    /// Registers that may be read before they are written; they start as zero.
    pub unset: Vec<Register>,
    pub local_bytes: u32,
    pub params: Vec<Reg32>,
    pub results: Vec<Reg32>,
}

/// A static shared variable.
#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
}

/// A decoded kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub code: Vec<Inst>,
    /// By number of the operation in `code`.
    pub micro_ops: Vec<MicroOp>,
    pub info: Vec<Info>,
    pub blocks: Vec<Block>,
    /// The kernel itself is function 0.
    pub functions: Vec<Function>,
    pub loads: Vec<Load>,
    pub stores: Vec<Store>,
    pub atomics: Vec<Atomic>,
    pub wide_atomics: Vec<WideAtomic>,
    pub allocas: Vec<Alloca>,
    pub map_edits: Vec<MapEdit>,
    pub shuffles: Vec<Shuffle>,
    pub async_copies: Vec<AsyncCopy>,
    pub matrices: Vec<Matrix>,
    pub lane_ops: Vec<LaneOp>,
    pub system_calls: Vec<SystemCall>,
    pub textures: Vec<TextureOp>,
    /// `.global` and `.const` variables that its functions declare; they are numbered behind those
    /// of the module.
    pub variables: Vec<Variable>,
    /// Number of lane offsets, besides number 0.
    pub lane_offsets: u32,
    /// By number of the lane offsets: the loads that have them, if observers may be notified of
    /// these by one event.
    pub groups: Vec<Vec<GroupedLoad>>,
    pub shared: Vec<SharedVariable>,
    /// Whether addresses of shared memory have the rank of their block.
    pub has_ranks: bool,
    /// Bytes of static shared memory, with what the system reserves.
    pub static_shared: u32,
    /// The same without it.
    pub own_shared: u32,
    /// Where the shared memory that the system reserves begins, if the kernel asks for it.
    pub reserved_shared: Option<u32>,
    /// Alignment of dynamic shared memory.
    pub dynamic_align: u32,
    /// Program function of the module functions that are in it, for indirect calls.
    pub addresses: FxHashMap<u32, u32>,
    pub lines: LineTable,
    /// Of a kernel that is decoded for stepping: each PTX instruction is a basic block of its own,
    /// and no two registers share a slot.
    pub symbols: Option<Box<Symbols>>,
}

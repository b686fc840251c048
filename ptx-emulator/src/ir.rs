//! The decoded form of a kernel: compact operations over 32-lane registers, in basic blocks.
//!
//! Registers live in three files per function: words (8 to 32 bits, zero-extended), doubles
//! (64 bits) and predicates (one bit per lane). Constants, kernel parameters and special registers
//! are registers too, filled before the code runs, so that every operand is an index.

mod asynchronous;
mod matrix;

pub(crate) use asynchronous::{
    AsyncCopy, BarrierAction, BarrierObject, BulkCopy, BulkDirection, Phase,
};
pub(crate) use matrix::{
    Matrix, MatrixInputs, MatrixMove, MatrixProduct, WarpgroupProduct, WarpgroupRows,
};

use crate::observer::GroupedLoad;
use crate::parse::ast::{LineTable, Type};

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Cycles: the instructions that the worker has issued.
    Clock,
    /// Nanoseconds since the launch.
    Nanoseconds,
}

/// One operation. Large operands stand in side tables of the [`Program`].
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
    /// Full product of two words; `true` where signed.
    MulWide(bool, Reg64, Reg32, Reg32),
    /// Full product of two words plus a double.
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
    /// Lane by lane through [`crate::exec::lane`]; index into `Program::lane_ops`.
    Lane(u32),
    /// The local-space address of a variable in the current frame.
    LocalAddress(Reg64, u32),
    Load(u32),
    Store(u32),
    Atomic(u32),
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
    /// `cp.async.wait_group`: all but so many of the newest groups; `wait_all` where there is none.
    AsyncWait(Option<u32>),
    /// Index into `Program::matrices`.
    Matrix(u32),
    /// `wgmma.commit_group`.
    WarpgroupCommit,
    /// `wgmma.wait_group`: all but so many of the newest groups.
    WarpgroupWait(u32),
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
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
    /// Whether it is one of the operations that most of a kernel's time goes into, and has no guard: a fused product and
    /// sum of floats, or a load whose base register is that of an access before it in the block, and unchanged.
    pub frequent: bool,
}

/// An operation that is evaluated lane by lane, on the lanes' 64-bit patterns.
#[derive(Clone, Debug)]
pub(crate) struct LaneOp {
    pub function: LaneFunction,
    pub destination: Register,
    /// Second destination: the carry flag of `add.cc` and its kin.
    pub carry_out: Option<Predicate>,
    pub arguments: Vec<Register>,
}

/// What a [`LaneOp`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneFunction {
    Integer(IntegerFunction, Type),
    Float(FloatFunction, FloatFormat),
    Convert(Conversion),
    /// `shf`: funnel shift; `true` where the amount is clamped instead of wrapped.
    FunnelLeft(bool),
    FunnelRight(bool),
    Permute(PermuteMode),
    Logic3(u8),
    /// Sum of four (or two) products of bytes; whether `a` and `b` are signed.
    DotProduct4(bool, bool),
    /// Carry-chain arithmetic; the last argument is the incoming carry.
    AddCarry(Type),
    SubBorrow(Type),
    /// `mapa`: an address in shared memory, a rank, and the block's own rank.
    MapToBlock,
    /// `getctarank`: an address in the cluster's shared memory, and the block's own rank.
    RankOfAddress,
    /// A float compared through f32: (comparison, negated) on f16 operands.
    CompareHalf(FloatFormat, Comparison, bool),
    TestProperty(FloatProperty, Type),
    /// Bits `[shift, shift + bits)` of the first argument replaced by the second.
    InsertBits {
        shift: u32,
        bits: u32,
    },
    /// Bits `[shift, shift + bits)`, sign-extended where `true`.
    ExtractBits {
        shift: u32,
        bits: u32,
        signed: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerFunction {
    Add,
    AddSaturating,
    Sub,
    SubSaturating,
    MulLow,
    MulHigh,
    MulWide,
    Mul24Low,
    Mul24High,
    Div,
    Rem,
    Neg,
    Abs,
    Min,
    Max,
    And,
    Or,
    Xor,
    Not,
    LogicalNot,
    ShiftLeft,
    ShiftRight,
    MadLow,
    MadHighSaturating,
    MadHigh,
    SumOfAbsoluteDifferences,
    PopulationCount,
    LeadingZeros,
    ReverseBits,
    FindHighest { shift_amount: bool },
    ExtractField,
    InsertField,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatFunction {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    DivApprox,
    Sqrt,
    SqrtApprox,
    Rcp,
    RcpApprox,
    RsqrtApprox,
    Sin,
    Cos,
    Exp2,
    Log2,
    Tanh,
    Neg,
    Abs,
    Min,
    Max,
    CopySign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatProperty {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Rounding of a float result (PTX `.rn .rz .rm .rp .rna`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    NearestEven,
    NearestAway,
    Zero,
    Down,
    Up,
}

/// A float type and the modifiers of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatFormat {
    pub ty: Type,
    pub rounding: Rounding,
    /// `.ftz`: subnormal inputs and results become zero of the same sign.
    pub flush: bool,
    /// `.sat`: the result is clamped to [0, 1], NaN becomes 0.
    pub saturate: bool,
    /// `.relu`: negative results become 0.
    pub relu: bool,
    /// `.NaN` of min and max: NaN wins.
    pub nan_wins: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermuteMode {
    Default,
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

/// A `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub to: Type,
    pub from: Type,
    pub rounding: Rounding,
    /// `.rni` and its kin: the result is an integral value.
    pub to_integral: bool,
    pub flush: bool,
    pub saturate: bool,
    pub relu: bool,
    /// Bits of the destination register, which may be wider than `to`.
    pub register_bits: u32,
}

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
    /// The shared memory of the blocks of a cluster (`.shared::cluster`). An address is the block's rank, times 2^24, plus the
    /// address in its shared memory.
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

/// Where an access's address comes from, besides its constant offset.
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
    /// Accesses of a basic block with the same value as their base have the same spread; 0 where
    /// the base is the same for all lanes.
    pub offsets: u32,
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
    /// Volatile, relaxed, acquire: 64-bit elements must not tear.
    pub strong: bool,
    /// Weak, with elements of 4 or 8 bytes: the fast paths may do it.
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

/// A value that fills a register before the code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Bits(u64),
    /// Bytes of the kernel's parameters.
    Param {
        offset: u32,
        bytes: u32,
        signed: bool,
    },
    Special(Special),
    /// The first byte of dynamic shared memory, plus an offset.
    DynamicShared(i64),
    /// A module variable's address (index into the module's variables), plus an offset.
    Variable(u32, i64),
}

impl Constant {
    /// Whether it is the same in all lanes of a warp.
    pub(crate) fn is_uniform(self) -> bool {
        use Special::{Lane, LaneMask, ThreadId};
        !matches!(self, Constant::Special(ThreadId(_) | Lane | LaneMask(_)))
    }

    /// Whether it is the same in all blocks of a launch.
    pub(crate) fn is_of_launch(self) -> bool {
        use Special::{BlockId, ClusterBlockId, ClusterId, ClusterRank};
        !matches!(
            self,
            Constant::Special(BlockId(_) | ClusterId(_) | ClusterBlockId(_) | ClusterRank)
        )
    }
}

/// Special registers that are constant for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    ThreadId(u8),
    ThreadCount(u8),
    BlockId(u8),
    BlockCount(u8),
    /// The cluster in the grid, and how many there are.
    ClusterId(u8),
    ClusterCount(u8),
    /// The block in its cluster, and how many there are.
    ClusterBlockId(u8),
    ClusterBlockCount(u8),
    /// The same, x first.
    ClusterRank,
    ClusterBlocks,
    /// Whether the launch named a cluster, even of one block.
    IsExplicitCluster,
    Lane,
    Warp,
    WarpCount,
    LaneMask(LaneMask),
    DynamicSharedBytes,
    TotalSharedBytes,
    Zero,
    One,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneMask {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// What happens at the end of a basic block.
#[derive(Clone, Debug)]
pub(crate) enum Terminator {
    Jump(u32),
    Branch {
        predicate: Predicate,
        negated: bool,
        taken: u32,
        next: u32,
    },
    Switch {
        index: Reg32,
        targets: Vec<u32>,
    },
    Return,
    Exit,
    Trap,
    Call(Box<Call>),
    Barrier(Box<Barrier>),
    BarrierObject(Box<BarrierObject>),
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        next: u32,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        next: u32,
    },
    BulkCopy(Box<BulkCopy>),
    /// `cp.async.bulk.wait_group`: all but so many of the newest groups.
    BulkWait {
        newest: u32,
        next: u32,
    },
}

/// A call of a `.func`; arguments and results are copied word by word.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub target: CallTarget,
    pub arguments: Vec<Reg32>,
    pub results: Vec<Reg32>,
    pub next: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum CallTarget {
    /// Index into `Program::functions`.
    Function(u32),
    /// Index into the module's functions, before `Program::functions` is complete, or of an
    /// external function, which cannot run.
    External(String),
    /// A function's address.
    Indirect(Reg64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    Count(Reg32),
    And(Predicate),
    Or(Predicate),
}

#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    pub id: Reg32,
    /// Threads that take part; none for all of the block.
    pub threads: Option<Reg32>,
    /// The predicate that a reduction reads.
    pub source: Option<Predicate>,
    pub next: u32,
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
    /// The block may only be entered by all lanes of this mask together (`.sync` operations).
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
    pub predicate_constants: Vec<(Predicate, bool)>,
    /// Registers that may be read before they are written; they start as zero.
    pub unset: Vec<Register>,
    pub local_bytes: u32,
    pub params: Vec<Reg32>,
    pub results: Vec<Reg32>,
}

/// Kind of work that a PTX instruction does, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum InstructionClass {
    /// f32 arithmetic except fused multiply-add.
    Float32,
    /// f32 fused multiply-add.
    Fma32,
    /// f64 arithmetic except fused multiply-add.
    Float64,
    /// f64 fused multiply-add.
    Fma64,
    /// f16 and bf16 arithmetic.
    Half,
    /// Products of matrices on tensor cores.
    Tensor,
    /// Integer and bit operations.
    Integer,
    /// Comparisons, selections and predicate logic.
    Compare,
    /// Moves, address conversions and packing.
    Move,
    /// `cvt`.
    Conversion,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// Branches, calls, returns.
    Control,
    /// Barriers and fences.
    Barrier,
    /// Shuffles, votes, matches and reductions within a warp.
    Warp,
    /// Everything else.
    Other,
}

/// What is known of one PTX instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    pub span: crate::parse::ast::Span,
    pub opcode: crate::parse::ast::Span,
    pub location: u32,
    pub class: InstructionClass,
}

/// A static shared variable's place.
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
    pub info: Vec<Info>,
    pub blocks: Vec<Block>,
    /// The kernel itself is function 0.
    pub functions: Vec<Function>,
    pub loads: Vec<Load>,
    pub stores: Vec<Store>,
    pub atomics: Vec<Atomic>,
    pub shuffles: Vec<Shuffle>,
    pub async_copies: Vec<AsyncCopy>,
    pub matrices: Vec<Matrix>,
    pub lane_ops: Vec<LaneOp>,
    /// Number of spreads, besides number 0.
    pub lane_offsets: u32,
    /// By spread: its loads, if observers may be told of them together.
    pub groups: Vec<Vec<GroupedLoad>>,
    pub shared: Vec<SharedVariable>,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Alignment of dynamic shared memory.
    pub dynamic_align: u32,
    /// Program function of each module function, for indirect calls.
    pub addresses: Vec<Option<u32>>,
    pub lines: LineTable,
}

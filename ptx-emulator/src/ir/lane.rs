//! Operations that are evaluated lane by lane.

use super::{Comparison, Predicate, Register};
use ptx_syntax::ast::Type;

/// An operation that is evaluated lane by lane, on the lanes' 64-bit patterns.
#[derive(Clone, Debug)]
pub(crate) struct LaneOp {
    pub function: LaneFunction,
    pub destination: Register,
    /// Second destination: the carry flag of `add.cc` and similar instructions.
    pub carry_out: Option<Predicate>,
    pub arguments: Vec<Register>,
}

impl LaneOp {
    /// Whether the operands are words, and the result is a word or a predicate.
    pub(crate) fn is_narrow(&self) -> bool {
        let is_word = |argument: &Register| matches!(argument, Register::Reg32(_));
        !matches!(self.destination, Register::Reg64(_)) && self.arguments.iter().all(is_word)
    }
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
    /// An operation on each part of words, of the type's width.
    Parts(IntegerFunction, Type),
    /// Sum of four products of bytes; whether `a` and `b` are signed.
    DotProduct4(bool, bool),
    /// `dp2a`: sum of two products of a 16-bit half and a byte, of the upper two bytes where
    /// `true`; whether `a` and `b` are signed.
    DotProduct2 {
        upper: bool,
        signed_a: bool,
        signed_b: bool,
    },
    /// `cvt.pack.sat`: two integers, clamped to this many bits, and behind them the last argument.
    Pack {
        bits: u32,
        signed: bool,
    },
    /// A scalar video instruction.
    Video(Video),
    /// `vmad`.
    VideoProduct(VideoProduct),
    /// A video instruction on the halves or the bytes of words.
    VideoParts(VideoParts),
    /// A float operation on both halves of 64-bit registers (`.f32x2`).
    FloatPair(FloatFunction, FloatFormat),
    /// `cvt` of two values to or from floats of at most 8 bits.
    ConvertSmall(SmallConversion),
    /// `cvt.rs` to `f16x2` or `bf16x2`: the first value goes into the upper half, the third
    /// argument has random bits.
    RoundRandomly(RandomRounding),
    /// Carry-chain arithmetic; the last argument is the incoming carry.
    AddCarry(Type),
    /// The sum of the first argument, the complement of the second and the carry: as on a GPU the
    /// flag of a difference is its carry, which is not set where it borrows. `addc` after `sub.cc`
    /// sees that.
    SubCarry(Type),
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
    FindHighest {
        shift_amount: bool,
    },
    ExtractField,
    InsertField,
    Mad24Low,
    Mad24High,
    Mad24HighSaturating,
    /// `bmsk`: whether position and length are clamped at 32, else wrapped.
    BitMask {
        clamps: bool,
    },
    /// `szext`: the same of the length.
    ExtendField {
        clamps: bool,
    },
    /// `fns`: the n-th set bit.
    FindNth,
    /// `clmad`: half of the product of polynomials over two elements, and a sum of that kind.
    CarrylessMadLow,
    CarrylessMadHigh,
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
    /// `.xorsign.abs` of min and max: of the magnitudes, with the product of the signs.
    pub xor_sign: bool,
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

/// A byte, a half or all of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub bits: u32,
    pub shift: u32,
}

impl Part {
    pub(crate) const WHOLE: Part = Part { bits: 32, shift: 0 };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoFunction {
    Add,
    Sub,
    AbsoluteDifference,
    Min,
    Max,
    ShiftLeft,
    ShiftRight,
    Set(VideoComparison),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoComparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// What a video instruction does with its result and its third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondOperation {
    Add,
    Min,
    Max,
}

/// A scalar video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Video {
    pub function: VideoFunction,
    /// Whether the result and the operands are signed; of `vset`, the second operation instead of
    /// the result.
    pub signed: [bool; 3],
    /// What of the operands counts.
    pub parts: [Part; 2],
    /// The part of the third operand that the result replaces.
    pub merged: Option<Part>,
    pub saturates: bool,
    /// Of shifts: whether the amount is clamped at 32, else wrapped.
    pub clamps: bool,
    pub second: Option<SecondOperation>,
}

/// `vmad`: a product, and what is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VideoProduct {
    /// Whether the factors' parts are signed; the result is where one of them is.
    pub signed: [bool; 2],
    /// What of the factors counts.
    pub parts: [Part; 2],
    /// `.po`: one more.
    pub plus_one: bool,
    pub saturates: bool,
    /// `.shr7` and `.shr15`.
    pub shift: u32,
}

/// What a video instruction does to each part of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartsFunction {
    Add,
    Sub,
    Average,
    AbsoluteDifference,
    Min,
    Max,
    Set(VideoComparison),
}

/// A video instruction on the halves or the bytes of words: `vadd2`, `vset4` and their likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VideoParts {
    pub function: PartsFunction,
    /// Bits of a part: 16 or 8.
    pub bits: u32,
    /// Whether the result and the operands are signed.
    pub signed: [bool; 3],
    /// Of each operand, which of the parts of both sources it takes, the lowest first.
    pub selected: [[u8; 4]; 2],
    /// The parts that are computed; the others are those of the third operand.
    pub mask: u8,
    pub saturates: bool,
    /// `.add`: the results are added to the third operand.
    pub accumulates: bool,
}

/// A float of at most 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmallFloat {
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
    /// A power of two.
    Ue8m0,
}

/// A `cvt` of two values to or from floats of at most 8 bits; random bits are the third argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SmallConversion {
    pub small: SmallFloat,
    /// What they are made of, or become: `f32` each, or a pair of 16 bits.
    pub other: Type,
    /// Whether the result is of the small floats.
    pub narrows: bool,
    pub relu: bool,
    /// `.satfinite`.
    pub finite: bool,
    /// Of results: none where random bits decide (`.rs`).
    pub rounding: Option<Rounding>,
}

/// `cvt.rs` to a pair of 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RandomRounding {
    /// `f16` or `bf16`.
    pub half: Type,
    pub relu: bool,
    pub finite: bool,
}

/// A `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub to: Type,
    pub from: Type,
    pub rounding: Rounding,
    /// `.rni` and similar modifiers: the result is an integral value.
    pub to_integral: bool,
    pub flush: bool,
    /// `.sat`: integers are clamped to the range of the type, floats to [0, 1].
    pub saturate: bool,
    /// `.satfinite`: floats beyond the largest finite one become that.
    pub finite: bool,
    pub relu: bool,
    /// Bits of the destination register, which may be wider than `to`.
    pub register_bits: u32,
}

impl Conversion {
    /// Whether the executor can compute it.
    pub(crate) fn is_supported(&self) -> bool {
        let known = |ty| is_float(ty) || is_integer(ty);
        let is_brain = self.to == Type::Bf16 || self.from == Type::Bf16;
        let saturates = !self.saturate || !is_float(self.to) || !is_brain;
        // Clamping to zero or to finite numbers is there for narrow results alone.
        let narrow = matches!(self.to, Type::F16 | Type::Bf16 | Type::Tf32);
        let clamps = !(self.relu || self.finite) || narrow && self.from == Type::F32;
        known(self.to) && known(self.from) && self.from != Type::Tf32 && saturates && clamps
    }
}

/// Whether a type is a scalar float.
pub(crate) fn is_float(ty: Type) -> bool {
    matches!(
        ty,
        Type::F16 | Type::Bf16 | Type::Tf32 | Type::F32 | Type::F64
    )
}

fn is_integer(ty: Type) -> bool {
    matches!(
        ty,
        Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::S8
            | Type::S16
            | Type::S32
            | Type::S64
            | Type::B8
            | Type::B16
            | Type::B32
            | Type::B64
    )
}

//! Micro-operations: the operations on registers alone in the form that the inner loop executes.
//!
//! An [`Op`](super::Op) says what it does in two or three steps: its form, its operator, and, where
//! it is a [`LaneOp`](super::LaneOp), a function with its modifiers. A micro-operation says all of
//! it in one number, so that the executor chooses once. Operations that no code stands for have one
//! of the last two codes.

use super::Guard;

/// One operation on registers, for each [`Inst`](super::Inst) of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MicroOp {
    pub code: Code,
    /// How many micro-operations from this one on can be executed one after the other: without a
    /// guard, and on registers alone. Blocks end such a run.
    pub run: u16,
    /// The destination, and the sources; numbers of registers.
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// A constant, as the code says.
    pub extra: u32,
    pub written: Written,
}

/// What a micro-operation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Reg32,
    /// Both of `d` and `b`.
    TwoReg32,
    Reg64,
    /// It does not write lanes outside of its mask: those of predicates and of [`Code::Lane`].
    InMask,
}

impl MicroOp {
    /// Whether it works on registers alone.
    pub(crate) fn is_on_registers(&self) -> bool {
        self.code != Code::Other
    }

    /// What an operation of this code and these destinations writes.
    pub(crate) fn written(code: Code) -> Written {
        use Code::*;
        match code {
            Unpack => Written::TwoReg32,
            Move64 | Not64 | Neg64 | FloatNeg64 | FloatAbs64 | Add64 | Sub64 | Mul64
            | MulHighUnsigned64 | MulHighSigned64 | And64 | Or64 | Xor64 | MinUnsigned64
            | MinSigned64 | MaxUnsigned64 | MaxSigned64 | FloatAdd64 | FloatSub64 | FloatMul64
            | FloatDiv64 | FloatMin64 | FloatMax64 | ShiftLeft64 | ShiftRightUnsigned64
            | ShiftRightSigned64 | MulAdd64 | FloatFma64 | MulWideUnsigned | MulWideSigned
            | MulAddWideUnsigned | MulAddWideSigned | WidenUnsigned | WidenSigned | Pack
            | Select64 | FloatToDouble | SignedToDouble => Written::Reg64,
            MovePredicate | Equal32 | LessSigned32 | LessUnsigned32 | FloatEqual32
            | FloatNotEqual32 | FloatLess32 | FloatLessEqual32 | FloatUnordered32 | Equal64
            | LessSigned64 | LessUnsigned64 | FloatEqual64 | FloatNotEqual64 | FloatLess64
            | FloatLessEqual64 | FloatUnordered64 | FlushedEqual32 | FlushedNotEqual32
            | FlushedLess32 | FlushedLessEqual32 | FlushedUnordered32 | PredicateAnd
            | PredicateOr | PredicateXor | PredicateNot | Lane | Other => Written::InMask,
            _ => Written::Reg32,
        }
    }

    /// Whether it can be part of a run.
    pub(crate) fn runs(&self, guard: Option<Guard>) -> bool {
        self.is_on_registers() && guard.is_none()
    }
}

/// What a micro-operation does. Names are those of the operators, with the bits of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Code {
    Move32,
    Move64,
    MovePredicate,
    Not32,
    Neg32,
    FloatNeg32,
    FloatAbs32,
    Not64,
    Neg64,
    FloatNeg64,
    FloatAbs64,
    Add32,
    Sub32,
    Mul32,
    MulHighUnsigned32,
    MulHighSigned32,
    And32,
    Or32,
    Xor32,
    MinUnsigned32,
    MinSigned32,
    MaxUnsigned32,
    MaxSigned32,
    FloatAdd32,
    FloatSub32,
    FloatMul32,
    FloatDiv32,
    FloatMin32,
    FloatMax32,
    Add64,
    Sub64,
    Mul64,
    MulHighUnsigned64,
    MulHighSigned64,
    And64,
    Or64,
    Xor64,
    MinUnsigned64,
    MinSigned64,
    MaxUnsigned64,
    MaxSigned64,
    FloatAdd64,
    FloatSub64,
    FloatMul64,
    FloatDiv64,
    FloatMin64,
    FloatMax64,
    ShiftLeft32,
    ShiftRightUnsigned32,
    ShiftRightSigned32,
    ShiftLeft64,
    ShiftRightUnsigned64,
    ShiftRightSigned64,
    MulAdd32,
    FloatFma32,
    MulAdd64,
    FloatFma64,
    MulWideUnsigned,
    MulWideSigned,
    MulAddWideUnsigned,
    MulAddWideSigned,
    WidenUnsigned,
    WidenSigned,
    Narrow,
    Pack,
    /// The second destination is `b`.
    Unpack,
    /// Of comparisons `extra` has all bits set where the result is negated.
    Equal32,
    LessSigned32,
    LessUnsigned32,
    FloatEqual32,
    FloatNotEqual32,
    FloatLess32,
    FloatLessEqual32,
    FloatUnordered32,
    Equal64,
    LessSigned64,
    LessUnsigned64,
    FloatEqual64,
    FloatNotEqual64,
    FloatLess64,
    FloatLessEqual64,
    FloatUnordered64,
    /// `.ftz`
    FlushedEqual32,
    FlushedNotEqual32,
    FlushedLess32,
    FlushedLessEqual32,
    FlushedUnordered32,
    Select32,
    Select64,
    PredicateAnd,
    PredicateOr,
    PredicateXor,
    PredicateNot,
    /// `.ftz`, of f32.
    FlushedAdd,
    FlushedSub,
    FlushedMul,
    FlushedFma,
    FlushedMin,
    FlushedMax,
    FlushedDiv,
    FlushedDivApprox,
    FlushedRcp,
    FlushedSqrt,
    FlushedRsqrt,
    FlushedExp2,
    FlushedLog2,
    DivApprox,
    Rcp,
    Sqrt,
    Rsqrt,
    Exp2,
    Log2,
    CopySign,
    AbsSigned32,
    PopulationCount32,
    LeadingZeros32,
    ReverseBits32,
    DivUnsigned32,
    RemUnsigned32,
    DivSigned32,
    RemSigned32,
    And16,
    Or16,
    Xor16,
    Add16,
    Sub16,
    FunnelLeftWrap,
    FunnelRightWrap,
    /// `prmt` of the default mode.
    Permute,
    /// `lop3`; `extra` is the table.
    Logic3,
    DotProduct4Signed,
    DotProduct4Unsigned,
    /// `extra` is the shift, and the number of bits from its bit 8 on.
    InsertBits,
    ExtractBits,
    /// `extra` is the mask.
    MaskBits,
    /// `extra` is the number of bits.
    SignExtend,
    SignedToFloat32,
    UnsignedToFloat32,
    ByteToFloat32,
    FloatToSigned32,
    FloatToUnsigned32,
    FloatToNearestSigned32,
    RoundNearest32,
    RoundZero32,
    RoundDown32,
    RoundUp32,
    HalfToFloat32,
    FloatToHalf32,
    BrainToFloat32,
    FloatToBrain32,
    FloatToDouble,
    DoubleToFloat,
    SignedToDouble,
    DoubleToSigned,
    /// Any other `Op::Lane`; `extra` is its number.
    Lane,
    /// Not on registers alone.
    Other,
}

//! Makes micro-operations of a program's operations.

use crate::ir::{
    Binary, Code, Comparison, Conversion, FloatFormat, FloatFunction, IntegerFunction,
    LaneFunction, LaneOp, MicroOp, Op, PermuteMode, PredicateOp, Program, Register, Rounding,
    Shift, Ternary, Unary,
};
use ptx_syntax::ast::Type;

/// One for each operation of the program, in its order.
pub(crate) fn of_program(program: &Program) -> Vec<MicroOp> {
    let lower = |op: &Op| of_op(op, &program.lane_ops);
    let mut all: Vec<MicroOp> = program.code.iter().map(|inst| lower(&inst.op)).collect();
    for block in &program.blocks {
        let mut run = 0u16;
        for at in (block.start as usize..block.end as usize).rev() {
            run = match all[at].runs(program.code[at].guard) {
                true => run.saturating_add(1),
                false => 0,
            };
            all[at].run = run;
        }
    }
    all
}

fn make(code: Code, d: u32, [a, b, c]: [u32; 3], extra: u32) -> MicroOp {
    MicroOp {
        code,
        run: 0,
        d,
        a,
        b,
        c,
        extra,
        written: MicroOp::written(code),
    }
}

fn of_op(op: &Op, lane_ops: &[LaneOp]) -> MicroOp {
    let negated = |is_negated: bool| if is_negated { u32::MAX } else { 0 };
    let (code, d, sources, extra) = match *op {
        Op::Move32(d, a) => (Code::Move32, d.0, [a.0, 0, 0], 0),
        Op::Move64(d, a) => (Code::Move64, d.0, [a.0, 0, 0], 0),
        Op::MovePredicate(d, a) => (Code::MovePredicate, d.0, [a.0, 0, 0], 0),
        Op::Unary32(op, d, a) => (unary(op).0, d.0, [a.0, 0, 0], 0),
        Op::Unary64(op, d, a) => (unary(op).1, d.0, [a.0, 0, 0], 0),
        Op::Binary32(op, d, a, b) => (binary(op).0, d.0, [a.0, b.0, 0], 0),
        Op::Binary64(op, d, a, b) => (binary(op).1, d.0, [a.0, b.0, 0], 0),
        Op::Shift32(op, d, a, b) => (shift(op).0, d.0, [a.0, b.0, 0], 0),
        Op::Shift64(op, d, a, b) => (shift(op).1, d.0, [a.0, b.0, 0], 0),
        Op::Ternary32(op, d, a, b, c) => (ternary(op).0, d.0, [a.0, b.0, c.0], 0),
        Op::Ternary64(op, d, a, b, c) => (ternary(op).1, d.0, [a.0, b.0, c.0], 0),
        Op::MulWide(false, d, a, b) => (Code::MulWideUnsigned, d.0, [a.0, b.0, 0], 0),
        Op::MulWide(true, d, a, b) => (Code::MulWideSigned, d.0, [a.0, b.0, 0], 0),
        Op::MulAddWide(false, d, a, b, c) => (Code::MulAddWideUnsigned, d.0, [a.0, b.0, c.0], 0),
        Op::MulAddWide(true, d, a, b, c) => (Code::MulAddWideSigned, d.0, [a.0, b.0, c.0], 0),
        Op::Widen(false, d, a) => (Code::WidenUnsigned, d.0, [a.0, 0, 0], 0),
        Op::Widen(true, d, a) => (Code::WidenSigned, d.0, [a.0, 0, 0], 0),
        Op::Narrow(d, a) => (Code::Narrow, d.0, [a.0, 0, 0], 0),
        Op::Pack(d, low, high) => (Code::Pack, d.0, [low.0, high.0, 0], 0),
        Op::Unpack(low, high, a) => (Code::Unpack, low.0, [a.0, high.0, 0], 0),
        Op::Compare32(op, negates, d, a, b) => {
            (comparison(op).0, d.0, [a.0, b.0, 0], negated(negates))
        }
        Op::Compare64(op, negates, d, a, b) => {
            (comparison(op).1, d.0, [a.0, b.0, 0], negated(negates))
        }
        Op::Select32(d, a, b, p) => (Code::Select32, d.0, [a.0, b.0, p.0], 0),
        Op::Select64(d, a, b, p) => (Code::Select64, d.0, [a.0, b.0, p.0], 0),
        Op::PredicateBinary(op, d, a, b) => {
            let code = match op {
                PredicateOp::And => Code::PredicateAnd,
                PredicateOp::Or => Code::PredicateOr,
                PredicateOp::Xor => Code::PredicateXor,
            };
            (code, d.0, [a.0, b.0, 0], 0)
        }
        Op::PredicateNot(d, a) => (Code::PredicateNot, d.0, [a.0, 0, 0], 0),
        Op::Lane(index) => {
            let known = of_lane_op(&lane_ops[index as usize]);
            return known.unwrap_or_else(|| make(Code::Lane, 0, [0; 3], index));
        }
        _ => (Code::Other, 0, [0; 3], 0),
    };
    make(code, d, sources, extra)
}

/// The codes for operands of 32 and of 64 bits.
fn unary(op: Unary) -> (Code, Code) {
    match op {
        Unary::Not => (Code::Not32, Code::Not64),
        Unary::Neg => (Code::Neg32, Code::Neg64),
        Unary::FloatNeg => (Code::FloatNeg32, Code::FloatNeg64),
        Unary::FloatAbs => (Code::FloatAbs32, Code::FloatAbs64),
    }
}

fn binary(op: Binary) -> (Code, Code) {
    match op {
        Binary::Add => (Code::Add32, Code::Add64),
        Binary::Sub => (Code::Sub32, Code::Sub64),
        Binary::Mul => (Code::Mul32, Code::Mul64),
        Binary::MulHighUnsigned => (Code::MulHighUnsigned32, Code::MulHighUnsigned64),
        Binary::MulHighSigned => (Code::MulHighSigned32, Code::MulHighSigned64),
        Binary::And => (Code::And32, Code::And64),
        Binary::Or => (Code::Or32, Code::Or64),
        Binary::Xor => (Code::Xor32, Code::Xor64),
        Binary::MinUnsigned => (Code::MinUnsigned32, Code::MinUnsigned64),
        Binary::MinSigned => (Code::MinSigned32, Code::MinSigned64),
        Binary::MaxUnsigned => (Code::MaxUnsigned32, Code::MaxUnsigned64),
        Binary::MaxSigned => (Code::MaxSigned32, Code::MaxSigned64),
        Binary::FloatAdd => (Code::FloatAdd32, Code::FloatAdd64),
        Binary::FloatSub => (Code::FloatSub32, Code::FloatSub64),
        Binary::FloatMul => (Code::FloatMul32, Code::FloatMul64),
        Binary::FloatDiv => (Code::FloatDiv32, Code::FloatDiv64),
        Binary::FloatMin => (Code::FloatMin32, Code::FloatMin64),
        Binary::FloatMax => (Code::FloatMax32, Code::FloatMax64),
    }
}

fn shift(op: Shift) -> (Code, Code) {
    match op {
        Shift::Left => (Code::ShiftLeft32, Code::ShiftLeft64),
        Shift::RightUnsigned => (Code::ShiftRightUnsigned32, Code::ShiftRightUnsigned64),
        Shift::RightSigned => (Code::ShiftRightSigned32, Code::ShiftRightSigned64),
    }
}

fn ternary(op: Ternary) -> (Code, Code) {
    match op {
        Ternary::MulAdd => (Code::MulAdd32, Code::MulAdd64),
        Ternary::FloatFma => (Code::FloatFma32, Code::FloatFma64),
    }
}

fn comparison(op: Comparison) -> (Code, Code) {
    match op {
        Comparison::Equal => (Code::Equal32, Code::Equal64),
        Comparison::LessSigned => (Code::LessSigned32, Code::LessSigned64),
        Comparison::LessUnsigned => (Code::LessUnsigned32, Code::LessUnsigned64),
        Comparison::FloatEqual => (Code::FloatEqual32, Code::FloatEqual64),
        Comparison::FloatNotEqual => (Code::FloatNotEqual32, Code::FloatNotEqual64),
        Comparison::FloatLess => (Code::FloatLess32, Code::FloatLess64),
        Comparison::FloatLessEqual => (Code::FloatLessEqual32, Code::FloatLessEqual64),
        Comparison::FloatUnordered => (Code::FloatUnordered32, Code::FloatUnordered64),
    }
}

/// The operation, if there is a code for it.
fn of_lane_op(op: &LaneOp) -> Option<MicroOp> {
    if op.carry_out.is_some() || op.arguments.len() > 3 {
        return None;
    }
    let mut sources = [0; 3];
    let mut wide = [false; 3];
    for (argument, (source, is_wide)) in op
        .arguments
        .iter()
        .zip(sources.iter_mut().zip(wide.iter_mut()))
    {
        (*source, *is_wide) = match *argument {
            Register::Reg32(register) => (register.0, false),
            Register::Reg64(register) => (register.0, true),
            Register::Predicate(_) => return None,
        };
    }
    let is_narrow = wide == [false; 3];
    let (code, d, extra) = match (op.destination, op.function) {
        (Register::Predicate(d), LaneFunction::CompareHalf(format, comparison, negated)) => {
            let code = flushed_comparison(format, comparison).filter(|_| is_narrow)?;
            (code, d.0, if negated { u32::MAX } else { 0 })
        }
        (Register::Predicate(_), _) => return None,
        (Register::Reg32(d), function) if is_narrow => {
            let (code, extra) = narrow(function)?;
            (code, d.0, extra)
        }
        (destination, LaneFunction::Convert(conversion)) => {
            let (code, to_wide) = wide_conversion(conversion)?;
            match (to_wide, destination, wide[0]) {
                (true, Register::Reg64(d), false) => (code, d.0, 0),
                (false, Register::Reg32(d), true) => (code, d.0, 0),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(make(code, d, sources, extra))
}

/// `setp.ftz.f32`
fn flushed_comparison(format: FloatFormat, comparison: Comparison) -> Option<Code> {
    if (format.ty, format.flush) != (Type::F32, true) {
        return None;
    }
    match comparison {
        Comparison::FloatEqual => Some(Code::FlushedEqual32),
        Comparison::FloatNotEqual => Some(Code::FlushedNotEqual32),
        Comparison::FloatLess => Some(Code::FlushedLess32),
        Comparison::FloatLessEqual => Some(Code::FlushedLessEqual32),
        Comparison::FloatUnordered => Some(Code::FlushedUnordered32),
        _ => None,
    }
}

/// The code of a function of words, and its constant.
fn narrow(function: LaneFunction) -> Option<(Code, u32)> {
    let code = match function {
        LaneFunction::Float(function, format) => float(function, format)?,
        LaneFunction::Integer(function, ty) => integer(function, ty)?,
        LaneFunction::Convert(conversion) => return conversion_of(conversion),
        LaneFunction::FunnelLeft(false) => Code::FunnelLeftWrap,
        LaneFunction::FunnelRight(false) => Code::FunnelRightWrap,
        LaneFunction::Permute(PermuteMode::Default) => Code::Permute,
        LaneFunction::Logic3(table) => return Some((Code::Logic3, u32::from(table))),
        LaneFunction::DotProduct4(true, true) => Code::DotProduct4Signed,
        LaneFunction::DotProduct4(false, false) => Code::DotProduct4Unsigned,
        LaneFunction::InsertBits { shift, bits } if bits > 0 && shift + bits <= 32 => {
            return Some((Code::InsertBits, shift | bits << 8));
        }
        LaneFunction::ExtractBits {
            shift,
            bits,
            signed: false,
        } if bits > 0 && shift + bits <= 32 => {
            return Some((Code::ExtractBits, shift | bits << 8));
        }
        _ => return None,
    };
    Some((code, 0))
}

fn float(function: FloatFunction, format: FloatFormat) -> Option<Code> {
    let plain = FloatFormat::new(Type::F32);
    if format == plain.flushing(true) {
        return Some(match function {
            FloatFunction::Add => Code::FlushedAdd,
            FloatFunction::Sub => Code::FlushedSub,
            FloatFunction::Mul => Code::FlushedMul,
            FloatFunction::Fma => Code::FlushedFma,
            FloatFunction::Min => Code::FlushedMin,
            FloatFunction::Max => Code::FlushedMax,
            FloatFunction::Div => Code::FlushedDiv,
            FloatFunction::DivApprox => Code::FlushedDivApprox,
            FloatFunction::Rcp | FloatFunction::RcpApprox => Code::FlushedRcp,
            FloatFunction::Sqrt | FloatFunction::SqrtApprox => Code::FlushedSqrt,
            FloatFunction::RsqrtApprox => Code::FlushedRsqrt,
            FloatFunction::Exp2 => Code::FlushedExp2,
            FloatFunction::Log2 => Code::FlushedLog2,
            _ => return None,
        });
    }
    if format != plain {
        return None;
    }
    Some(match function {
        FloatFunction::DivApprox => Code::DivApprox,
        FloatFunction::Rcp | FloatFunction::RcpApprox => Code::Rcp,
        FloatFunction::Sqrt | FloatFunction::SqrtApprox => Code::Sqrt,
        FloatFunction::RsqrtApprox => Code::Rsqrt,
        FloatFunction::Exp2 => Code::Exp2,
        FloatFunction::Log2 => Code::Log2,
        FloatFunction::CopySign => Code::CopySign,
        _ => return None,
    })
}

fn integer(function: IntegerFunction, ty: Type) -> Option<Code> {
    Some(match (function, ty) {
        (IntegerFunction::Abs, Type::S32) => Code::AbsSigned32,
        (IntegerFunction::PopulationCount, Type::U32 | Type::B32) => Code::PopulationCount32,
        (IntegerFunction::LeadingZeros, Type::U32 | Type::B32) => Code::LeadingZeros32,
        (IntegerFunction::ReverseBits, Type::U32 | Type::B32) => Code::ReverseBits32,
        (IntegerFunction::Div, Type::U32 | Type::B32) => Code::DivUnsigned32,
        (IntegerFunction::Rem, Type::U32 | Type::B32) => Code::RemUnsigned32,
        (IntegerFunction::Div, Type::S32) => Code::DivSigned32,
        (IntegerFunction::Rem, Type::S32) => Code::RemSigned32,
        (IntegerFunction::And, Type::U16 | Type::S16 | Type::B16) => Code::And16,
        (IntegerFunction::Or, Type::U16 | Type::S16 | Type::B16) => Code::Or16,
        (IntegerFunction::Xor, Type::U16 | Type::S16 | Type::B16) => Code::Xor16,
        (IntegerFunction::Add, Type::U16 | Type::S16 | Type::B16) => Code::Add16,
        (IntegerFunction::Sub, Type::U16 | Type::S16 | Type::B16) => Code::Sub16,
        _ => return None,
    })
}

/// Whether a conversion has no modifier but its rounding.
fn is_plain(conversion: Conversion) -> bool {
    let Conversion {
        flush,
        saturate,
        finite,
        relu,
        ..
    } = conversion;
    !(flush || saturate || finite || relu)
}

/// Of words.
fn conversion_of(conversion: Conversion) -> Option<(Code, u32)> {
    let Conversion {
        to,
        from,
        rounding,
        to_integral,
        register_bits,
        ..
    } = conversion;
    if !is_plain(conversion) || register_bits > 32 {
        return None;
    }
    let is_nearest = rounding == Rounding::NearestEven;
    let is_unsigned = |ty| matches!(ty, Type::U8 | Type::B8 | Type::U16 | Type::B16 | Type::U32);
    let code = match (from, to) {
        (Type::S32, Type::F32) if is_nearest => Code::SignedToFloat32,
        (Type::U32, Type::F32) if is_nearest => Code::UnsignedToFloat32,
        (Type::U8, Type::F32) if is_nearest => Code::ByteToFloat32,
        (Type::F32, Type::S32) if rounding == Rounding::Zero => Code::FloatToSigned32,
        (Type::F32, Type::U32) if rounding == Rounding::Zero => Code::FloatToUnsigned32,
        (Type::F32, Type::S32) if is_nearest => Code::FloatToNearestSigned32,
        (Type::F32, Type::F32) if to_integral => match rounding {
            Rounding::NearestEven => Code::RoundNearest32,
            Rounding::Zero => Code::RoundZero32,
            Rounding::Down => Code::RoundDown32,
            Rounding::Up => Code::RoundUp32,
            Rounding::NearestAway => return None,
        },
        (Type::F16, Type::F32) if is_nearest && !to_integral => Code::HalfToFloat32,
        (Type::F32, Type::F16) if is_nearest && !to_integral => Code::FloatToHalf32,
        (Type::Bf16, Type::F32) if is_nearest && !to_integral => Code::BrainToFloat32,
        (Type::F32, Type::Bf16) if is_nearest && !to_integral => Code::FloatToBrain32,
        (from, to) if is_unsigned(from) && is_unsigned(to) => {
            let bits = 8 * from.bytes().min(to.bytes());
            let bits = bits.min(register_bits.max(1));
            return Some((Code::MaskBits, u32::MAX >> (32 - bits)));
        }
        (Type::S8 | Type::S16, Type::S32 | Type::U32) if register_bits == 32 => {
            return Some((Code::SignExtend, 8 * from.bytes()));
        }
        _ => return None,
    };
    Some((code, 0))
}

/// Of f64, and whether the result is that.
fn wide_conversion(conversion: Conversion) -> Option<(Code, bool)> {
    let Conversion {
        to,
        from,
        rounding,
        to_integral,
        ..
    } = conversion;
    let is_nearest = rounding == Rounding::NearestEven && !to_integral;
    match (from, to) {
        _ if !is_plain(conversion) => None,
        (Type::F32, Type::F64) if !to_integral => Some((Code::FloatToDouble, true)),
        (Type::S32, Type::F64) if is_nearest => Some((Code::SignedToDouble, true)),
        (Type::F64, Type::F32) if is_nearest => Some((Code::DoubleToFloat, false)),
        (Type::F64, Type::S32) if rounding == Rounding::Zero => Some((Code::DoubleToSigned, false)),
        _ => None,
    }
}

//! Float arithmetic of PTX on bit patterns: NaN results, flushing, rounding modes, 16-bit formats.
//!
//! NaN results are those of an H200, which the PTX ISA leaves open in part. An f32 or 16-bit
//! operation gives one NaN, `0x7fffffff` or `0x7fff`. An f64 operation passes an operand's NaN on,
//! made quiet; where several operands are NaN, the second one goes first, then the third (of
//! `fma`), then the first, except that `div` prefers its first; without a NaN operand the result is
//! `0xfff8000000000000`. Conversions from and to f64 keep the sign and as much of the payload as
//! fits.

use super::convert::is_flushed;
use super::{approximate, double};
use crate::ir::{Comparison, FloatFormat, FloatFunction, FloatProperty, Rounding};
use ptx_syntax::ast::Type;

/// The NaN that every f32 operation gives.
pub(crate) const NAN32: u32 = 0x7fff_ffff;

/// Bits of an f32 result.
#[inline(always)]
pub(crate) fn bits32(value: f32) -> u32 {
    if value.is_nan() {
        NAN32
    } else {
        value.to_bits()
    }
}

/// The NaN that f64 operations make of other operands.
const NAN64: u64 = 0xfff8_0000_0000_0000;

/// Marks a NaN as quiet.
const QUIET64: u64 = 0x0008_0000_0000_0000;

/// An f64 result, or the NaN that comes first in `operands`.
#[inline(always)]
pub(crate) fn bits64<const N: usize>(value: f64, operands: [u64; N]) -> u64 {
    let mut nan = NAN64;
    for operand in operands.into_iter().rev() {
        nan = if f64::from_bits(operand).is_nan() {
            operand | QUIET64
        } else {
            nan
        };
    }
    if value.is_nan() { nan } else { value.to_bits() }
}

/// `a` · `b` + `c` of f64, rounded to nearest.
pub(super) fn fused(a: f64, b: f64, c: f64) -> f64 {
    let operands = [b, c, a].map(f64::to_bits);
    f64::from_bits(bits64(a.mul_add(b, c), operands))
}

/// min and max: the operand that is not NaN; -0 is less than +0.
macro_rules! extremes {
    ($min:ident, $max:ident, $float:ty, $bits:ty, $of_nans:expr) => {
        #[inline(always)]
        pub(crate) fn $min(a: $bits, b: $bits) -> $bits {
            let (x, y) = (<$float>::from_bits(a), <$float>::from_bits(b));
            let least = if x < y { a } else { b };
            let least = if x == y { a | b } else { least };
            let least = if x.is_nan() { b } else { least };
            let least = if y.is_nan() { a } else { least };
            if x.is_nan() & y.is_nan() {
                $of_nans(b)
            } else {
                least
            }
        }

        #[inline(always)]
        pub(crate) fn $max(a: $bits, b: $bits) -> $bits {
            let (x, y) = (<$float>::from_bits(a), <$float>::from_bits(b));
            let most = if x > y { a } else { b };
            let most = if x == y { a & b } else { most };
            let most = if x.is_nan() { b } else { most };
            let most = if y.is_nan() { a } else { most };
            if x.is_nan() & y.is_nan() {
                $of_nans(b)
            } else {
                most
            }
        }
    };
}

extremes!(min32, max32, f32, u32, |_| NAN32);
extremes!(min64, max64, f64, u64, |nan| nan | QUIET64);

pub(crate) fn flush32(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// A float type by its fields; all values of these types are exact in f64.
#[derive(Clone, Copy)]
struct Fields {
    exponent_bits: u32,
    mantissa_bits: u32,
    nan: u64,
}

fn fields(ty: Type) -> Fields {
    match ty {
        Type::F16 | Type::F16x2 => Fields {
            exponent_bits: 5,
            mantissa_bits: 10,
            nan: 0x7fff,
        },
        Type::Bf16 | Type::Bf16x2 => Fields {
            exponent_bits: 8,
            mantissa_bits: 7,
            nan: 0x7fff,
        },
        // tf32 is an f32 whose low 13 bits are zero.
        Type::Tf32 => Fields {
            exponent_bits: 8,
            mantissa_bits: 10,
            nan: 0x7fff_ffff >> 13,
        },
        _ => Fields {
            exponent_bits: 8,
            mantissa_bits: 23,
            nan: NAN32 as u64,
        },
    }
}

/// The f64 value of a float of up to 32 bits.
pub(crate) fn to_f64(bits: u64, ty: Type) -> f64 {
    match ty {
        Type::F64 => f64::from_bits(bits),
        Type::F32 | Type::Tf32 => f64::from(f32::from_bits(bits as u32)),
        Type::Bf16 | Type::Bf16x2 => f64::from(f32::from_bits((bits as u32) << 16)),
        _ => {
            let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
            let exponent = (bits >> 10 & 0x1f) as i32;
            let mantissa = (bits & 0x3ff) as f64;
            sign * match exponent {
                0x1f if mantissa != 0.0 => f64::NAN,
                0x1f => f64::INFINITY,
                0 => mantissa * (-24f64).exp2(),
                _ => (1024.0 + mantissa) * f64::from(exponent - 25).exp2(),
            }
        }
    }
}

/// Rounds a value to a float type and gives its bits. `rest` is the sign of what the exact value
/// has beyond `value`, for values that were rounded to f64 before.
pub(crate) fn from_f64(value: f64, rest: f64, ty: Type, rounding: Rounding) -> u64 {
    if ty == Type::F64 {
        return bits64(value, [value.to_bits()]);
    }
    let fields = fields(ty);
    if value.is_nan() {
        return if ty == Type::Tf32 {
            fields.nan << 13
        } else {
            fields.nan
        };
    }
    let bits = round(value, rest, fields, rounding);
    if ty == Type::Tf32 { bits << 13 } else { bits }
}

fn round(value: f64, rest: f64, fields: Fields, rounding: Rounding) -> u64 {
    let Fields {
        exponent_bits,
        mantissa_bits,
        ..
    } = fields;
    let sign = u64::from(value.is_sign_negative()) << (exponent_bits + mantissa_bits);
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    if value.is_infinite() {
        return sign | infinity;
    }
    let source = value.abs().to_bits();
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    // The exponent of the result, at least that of its subnormals.
    let exponent = ((source >> 52) as i64 - 1023).max(1 - bias);
    let significand = match source >> 52 {
        0 => source,
        _ => source & ((1 << 52) - 1) | 1 << 52,
    };
    // How many bits of the 53-bit significand lie below the result's last place.
    let dropped = exponent - ((source >> 52).max(1) as i64 - 1023) + 52 - i64::from(mantissa_bits);
    let (kept, tail, half) = if dropped > 60 {
        (0, significand.min(1), 2)
    } else {
        let tail = significand & ((1 << dropped) - 1);
        (significand >> dropped, tail, 1u64 << (dropped - 1))
    };
    let toward = if value.is_sign_negative() {
        -rest
    } else {
        rest
    };
    // The exact tail is a little less or more than `tail` where rest is not zero.
    let (kept, tail_is_zero, beyond_half, at_half) = if toward < 0.0 && tail == 0 {
        (kept.wrapping_sub(1), false, true, false)
    } else {
        (
            kept,
            tail == 0 && toward == 0.0,
            tail > half || (tail == half && toward > 0.0),
            tail == half && toward == 0.0,
        )
    };
    let away = match rounding {
        Rounding::NearestEven => beyond_half || (at_half && kept & 1 == 1),
        Rounding::NearestAway => beyond_half || at_half,
        Rounding::Zero => false,
        Rounding::Down => !tail_is_zero && value.is_sign_negative(),
        Rounding::Up => !tail_is_zero && !value.is_sign_negative(),
    };
    let rounded = kept + u64::from(away);
    // The implicit bit adds itself to the exponent field.
    let field = (exponent + bias - 1) as u64;
    let bits = (field << mantissa_bits) + rounded;
    if bits < infinity {
        return sign | bits;
    }
    let saturates = match rounding {
        Rounding::NearestEven | Rounding::NearestAway => false,
        Rounding::Zero => true,
        Rounding::Down => !value.is_sign_negative(),
        Rounding::Up => value.is_sign_negative(),
    };
    sign | if saturates { infinity - 1 } else { infinity }
}

/// Sum of two doubles and what rounding took from it (Knuth's two-sum).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let rest = (a - (sum - b_part)) + (b - b_part);
    (sum, if rest.is_nan() { 0.0 } else { rest })
}

/// An f64 sum in a directed rounding, from the nearest f64 and the sign of what it lacks.
fn direct64(a: f64, b: f64, rounding: Rounding) -> f64 {
    let (sum, rest) = two_sum(a, b);
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        let clamps = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => false,
            Rounding::Zero => true,
            Rounding::Down => sum > 0.0,
            Rounding::Up => sum < 0.0,
        };
        return if clamps { f64::MAX.copysign(sum) } else { sum };
    }
    match rounding {
        Rounding::Up if rest > 0.0 => sum.next_up(),
        Rounding::Down if rest < 0.0 => sum.next_down(),
        Rounding::Zero if sum > 0.0 && rest < 0.0 => sum.next_down(),
        Rounding::Zero if sum < 0.0 && rest > 0.0 => sum.next_up(),
        Rounding::Down if sum == 0.0 => zero_sum_down(a, b),
        _ => sum,
    }
}

/// Rounding down, a sum of zero is negative unless both addends are +0.
fn zero_sum_down(a: f64, b: f64) -> f64 {
    if a.is_sign_positive() && b.is_sign_positive() {
        0.0
    } else {
        -0.0
    }
}

/// Result of a function on floats of up to 32 bits before its rounding: the f64 value and the sign
/// of the rest. Products of such floats are exact in f64.
fn exact(function: FloatFunction, x: &[f64; 3], rounding: Rounding) -> (f64, f64) {
    let [a, b, c] = *x;
    let sum = |a: f64, b: f64| match two_sum(a, b) {
        (0.0, _) if rounding == Rounding::Down => (zero_sum_down(a, b), 0.0),
        sum => sum,
    };
    match function {
        FloatFunction::Add => sum(a, b),
        FloatFunction::Sub => sum(a, -b),
        FloatFunction::Mul => (a * b, 0.0),
        FloatFunction::Fma => sum(a * b, c),
        FloatFunction::Div | FloatFunction::DivApprox => quotient(a, b),
        FloatFunction::Rcp | FloatFunction::RcpApprox => quotient(1.0, a),
        FloatFunction::Sqrt | FloatFunction::SqrtApprox => {
            let root = a.sqrt();
            let rest = (-root).mul_add(root, a);
            (root, if rest.is_finite() { rest } else { 0.0 })
        }
        FloatFunction::RsqrtApprox => (1.0 / a.sqrt(), 0.0),
        FloatFunction::Sin => (approximate::sin(a), 0.0),
        FloatFunction::Cos => (approximate::cos(a), 0.0),
        FloatFunction::Exp2 => (approximate::exp2(a), 0.0),
        FloatFunction::Log2 => (approximate::log2(a), 0.0),
        FloatFunction::Tanh => (approximate::tanh(a), 0.0),
        // These do not round and are handled on bits.
        FloatFunction::Neg
        | FloatFunction::Abs
        | FloatFunction::Min
        | FloatFunction::Max
        | FloatFunction::CopySign => (a, 0.0),
    }
}

fn quotient(a: f64, b: f64) -> (f64, f64) {
    let quotient = a / b;
    let rest = (-quotient).mul_add(b, a) * b.signum();
    (quotient, if rest.is_finite() { rest } else { 0.0 })
}

/// A float instruction on one lane.
pub(crate) fn evaluate(function: FloatFunction, format: FloatFormat, x: [u64; 3]) -> u64 {
    match format.ty {
        Type::F16x2 | Type::Bf16x2 => {
            let ty = if format.ty == Type::F16x2 {
                Type::F16
            } else {
                Type::Bf16
            };
            let half = FloatFormat { ty, ..format };
            let low = evaluate(function, half, x.map(|bits| bits & 0xffff));
            let high = evaluate(function, half, x.map(|bits| bits >> 16 & 0xffff));
            low | high << 16
        }
        _ => scalar(function, format, x),
    }
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: of the operand and of the result the upper half
/// counts, and subnormals are zero.
#[inline(always)]
pub(super) fn upper_half(bits: u64, function: impl Fn(f64) -> f64) -> u64 {
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    const SIGN: u64 = 1 << 63;
    let flush = |bits: u64| match bits & EXPONENT {
        0 => bits & SIGN,
        _ => bits,
    };
    let result = function(f64::from_bits(flush(bits & UPPER)));
    flush(bits64(result, [bits]) & UPPER)
}

fn scalar(function: FloatFunction, format: FloatFormat, mut x: [u64; 3]) -> u64 {
    let ty = format.ty;
    if ty == Type::F64 && format.flush {
        return match function {
            FloatFunction::RcpApprox => upper_half(x[0], |value| 1.0 / value),
            _ => upper_half(x[0], |value| 1.0 / value.sqrt()),
        };
    }
    let bits = 8 * ty.bytes();
    let sign = 1u64 << (bits - 1);
    if format.flush && ty == Type::F32 {
        x = x.map(|bits| u64::from(flush32(bits as u32)));
    }
    if format.flush && ty == Type::F16 {
        x = x.map(|bits| {
            if bits & 0x7c00 == 0 {
                bits & 0x8000
            } else {
                bits
            }
        });
    }
    let mut is_tiny = false;
    let mut result = match function {
        FloatFunction::Neg => sign_only(x[0] ^ sign, x[0], ty),
        FloatFunction::Abs => sign_only(x[0] & !sign, x[0], ty),
        // Sign of the first operand, magnitude of the second.
        FloatFunction::CopySign => x[0] & sign | x[1] & !sign,
        FloatFunction::Min | FloatFunction::Max if format.xor_sign => {
            let found = extreme(function, format, x[0] & !sign, x[1] & !sign);
            match to_f64(found, ty).is_nan() {
                true => found,
                false => found | (x[0] ^ x[1]) & sign,
            }
        }
        FloatFunction::Min | FloatFunction::Max => extreme(function, format, x[0], x[1]),
        _ if ty == Type::F64 => double(function, format.rounding, x),
        _ => match nearest32(function, x) {
            Some(bits) if ty == Type::F32 && format.rounding == Rounding::NearestEven => bits,
            _ => {
                let (value, rest) =
                    exact(function, &x.map(|bits| to_f64(bits, ty)), format.rounding);
                is_tiny = is_flushed(value, format.rounding);
                from_f64(value, rest, ty, format.rounding)
            }
        },
    };
    if format.flush && ty == Type::F16 && result & 0x7c00 == 0 {
        result &= 0x8000;
    }
    if format.flush && ty == Type::F32 {
        // A tiny result is zero, also where it would be rounded up to the smallest normal number.
        result &= if is_tiny { sign } else { u64::MAX };
        result = u64::from(flush32(result as u32));
    }
    let value = to_f64(result, ty);
    if format.saturate {
        result = match value {
            value if value.is_nan() || value <= 0.0 => 0,
            value if value >= 1.0 => from_f64(1.0, 0.0, ty, Rounding::NearestEven),
            _ => result,
        };
    }
    if format.relu && value <= 0.0 {
        result = 0;
    }
    result
}

/// The result of `neg` and `abs`: NaN stays as it is, or becomes the one NaN of its type.
fn sign_only(result: u64, operand: u64, ty: Type) -> u64 {
    match (to_f64(operand, ty).is_nan(), ty) {
        (false, _) => result,
        (true, Type::F64) => operand | QUIET64,
        (true, _) => fields(ty).nan,
    }
}

/// f64 operations.
fn double(function: FloatFunction, rounding: Rounding, x: [u64; 3]) -> u64 {
    let [a, b, c] = x.map(f64::from_bits);
    if rounding != Rounding::NearestEven
        && let Some(value) = double::evaluate(function, rounding, [a, b, c])
    {
        return value.to_bits();
    }
    let value = match function {
        FloatFunction::Add => direct64(a, b, rounding),
        FloatFunction::Sub => direct64(a, -b, rounding),
        FloatFunction::Mul => a * b,
        FloatFunction::Fma => a.mul_add(b, c),
        FloatFunction::Div | FloatFunction::DivApprox => return bits64(a / b, [x[0], x[1]]),
        _ => return bits64(exact(function, &[a, b, c], rounding).0, [x[0]]),
    };
    match function {
        FloatFunction::Fma => bits64(value, [x[1], x[2], x[0]]),
        _ => bits64(value, [x[1], x[0]]),
    }
}

/// f32 operations that the host rounds to nearest itself.
fn nearest32(function: FloatFunction, x: [u64; 3]) -> Option<u64> {
    let [a, b, c] = x.map(|bits| f32::from_bits(bits as u32));
    let value = match function {
        FloatFunction::Add => a + b,
        FloatFunction::Sub => a - b,
        FloatFunction::Mul => a * b,
        FloatFunction::Fma => a.mul_add(b, c),
        // The approximation does not reach divisors beyond 2^126.
        FloatFunction::DivApprox if b.is_finite() && b.abs() > 126f32.exp2() => {
            if a.is_infinite() {
                f32::NAN
            } else {
                (a * 0.0).copysign(a) * b.signum()
            }
        }
        FloatFunction::Div | FloatFunction::DivApprox => a / b,
        FloatFunction::Rcp | FloatFunction::RcpApprox => 1.0 / a,
        FloatFunction::Sqrt | FloatFunction::SqrtApprox => a.sqrt(),
        _ => return None,
    };
    Some(u64::from(bits32(value)))
}

fn extreme(function: FloatFunction, format: FloatFormat, a: u64, b: u64) -> u64 {
    let ty = format.ty;
    let (x, y) = (to_f64(a, ty), to_f64(b, ty));
    if format.nan_wins && (x.is_nan() || y.is_nan()) {
        return from_f64(f64::NAN, 0.0, ty, Rounding::NearestEven);
    }
    match (ty, function) {
        (Type::F32, FloatFunction::Min) => u64::from(min32(a as u32, b as u32)),
        (Type::F32, _) => u64::from(max32(a as u32, b as u32)),
        (Type::F64, FloatFunction::Min) => min64(a, b),
        (Type::F64, _) => max64(a, b),
        (_, FloatFunction::Min) => half_of(min64(x.to_bits(), y.to_bits()), ty),
        _ => half_of(max64(x.to_bits(), y.to_bits()), ty),
    }
}

fn half_of(bits: u64, ty: Type) -> u64 {
    from_f64(f64::from_bits(bits), 0.0, ty, Rounding::NearestEven)
}

/// `setp` on types that the vectorised comparisons do not cover.
pub(crate) fn compare(format: FloatFormat, comparison: Comparison, a: u64, b: u64) -> bool {
    let read = |bits: u64| {
        let bits = match (format.flush, format.ty) {
            (true, Type::F32) => u64::from(flush32(bits as u32)),
            (true, Type::F16) if bits & 0x7c00 == 0 => bits & 0x8000,
            _ => bits,
        };
        to_f64(bits, format.ty)
    };
    let (a, b) = (read(a), read(b));
    match comparison {
        Comparison::FloatEqual => a == b,
        Comparison::FloatNotEqual => a.partial_cmp(&b).is_some_and(|order| order.is_ne()),
        Comparison::FloatLess => a < b,
        Comparison::FloatLessEqual => a <= b,
        Comparison::FloatUnordered => a.is_nan() || b.is_nan(),
        Comparison::Equal | Comparison::LessSigned | Comparison::LessUnsigned => false,
    }
}

/// `testp`
pub(crate) fn has_property(property: FloatProperty, ty: Type, bits: u64) -> bool {
    let (normal, subnormal, value) = match ty {
        Type::F32 => {
            let value = f32::from_bits(bits as u32);
            (value.is_normal(), value.is_subnormal(), f64::from(value))
        }
        _ => {
            let value = f64::from_bits(bits);
            (value.is_normal(), value.is_subnormal(), value)
        }
    };
    match property {
        FloatProperty::Finite => value.is_finite(),
        FloatProperty::Infinite => value.is_infinite(),
        FloatProperty::Number => !value.is_nan(),
        FloatProperty::NotANumber => value.is_nan(),
        FloatProperty::Normal => normal || value == 0.0,
        FloatProperty::Subnormal => subnormal,
    }
}

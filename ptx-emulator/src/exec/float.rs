//! Float arithmetic of PTX on bit patterns: NaN results, flushing, rounding modes, 16-bit formats.
//!
//! NaN results are the ones that NVIDIA GPUs give: f32 0x7fffffff, f64 0x7ff8000000000000 where an
//! operation makes a NaN; f16 and bf16 0x7fff.

use crate::ir::{Comparison, FloatFormat, FloatFunction, FloatProperty, Rounding};
use crate::parse::ast::Type;

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

/// The NaN that f64 operations make.
pub(crate) const NAN64: u64 = 0x7ff8_0000_0000_0000;

/// Bits of an f64 result.
#[inline(always)]
pub(crate) fn bits64(value: f64) -> u64 {
    if value.is_nan() {
        NAN64
    } else {
        value.to_bits()
    }
}

/// min and max: the operand that is not NaN; -0 is less than +0.
macro_rules! extremes {
    ($min:ident, $max:ident, $float:ty, $bits:ty, $nan:expr) => {
        #[inline(always)]
        pub(crate) fn $min(a: $bits, b: $bits) -> $bits {
            let (x, y) = (<$float>::from_bits(a), <$float>::from_bits(b));
            let least = if x < y { a } else { b };
            let least = if x == y { a | b } else { least };
            let least = if x.is_nan() { b } else { least };
            let least = if y.is_nan() { a } else { least };
            if x.is_nan() & y.is_nan() { $nan } else { least }
        }

        #[inline(always)]
        pub(crate) fn $max(a: $bits, b: $bits) -> $bits {
            let (x, y) = (<$float>::from_bits(a), <$float>::from_bits(b));
            let most = if x > y { a } else { b };
            let most = if x == y { a & b } else { most };
            let most = if x.is_nan() { b } else { most };
            let most = if y.is_nan() { a } else { most };
            if x.is_nan() & y.is_nan() { $nan } else { most }
        }
    };
}

extremes!(min32, max32, f32, u32, NAN32);
extremes!(min64, max64, f64, u64, NAN64);

fn flush32(bits: u32) -> u32 {
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
        return bits64(value);
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

/// Moves an f64 result by one place where a directed rounding wants it; `rest` is the sign of
/// exact minus `value`.
fn direct64(value: f64, rest: f64, rounding: Rounding) -> f64 {
    if rest == 0.0 || !value.is_finite() {
        return value;
    }
    let up = rest > 0.0;
    match rounding {
        Rounding::NearestEven | Rounding::NearestAway => value,
        Rounding::Up if up => value.next_up(),
        Rounding::Down if !up => value.next_down(),
        Rounding::Zero if value > 0.0 && !up => value.next_down(),
        Rounding::Zero if value < 0.0 && up => value.next_up(),
        _ => value,
    }
}

/// Result of a function before its rounding: the f64 value and the sign of the rest.
fn exact(function: FloatFunction, x: &[f64], ty: Type) -> (f64, f64) {
    let (a, b, c) = (x[0], x[1], x[2]);
    match function {
        FloatFunction::Add => two_sum(a, b),
        FloatFunction::Sub => two_sum(a, -b),
        FloatFunction::Mul if ty == Type::F64 => {
            let product = a * b;
            let rest = a.mul_add(b, -product);
            (product, if rest.is_nan() { 0.0 } else { rest })
        }
        FloatFunction::Mul => (a * b, 0.0),
        FloatFunction::Fma if ty == Type::F64 => (a.mul_add(b, c), 0.0),
        FloatFunction::Fma => two_sum(a * b, c),
        FloatFunction::Div | FloatFunction::DivApprox => quotient(a, b),
        FloatFunction::Rcp | FloatFunction::RcpApprox => quotient(1.0, a),
        FloatFunction::Sqrt | FloatFunction::SqrtApprox => {
            let root = a.sqrt();
            let rest = (-root).mul_add(root, a);
            (root, if rest.is_finite() { rest } else { 0.0 })
        }
        FloatFunction::RsqrtApprox => (1.0 / a.sqrt(), 0.0),
        FloatFunction::Sin => (a.sin(), 0.0),
        FloatFunction::Cos => (a.cos(), 0.0),
        FloatFunction::Exp2 => (a.exp2(), 0.0),
        FloatFunction::Log2 => (a.log2(), 0.0),
        FloatFunction::Tanh => (a.tanh(), 0.0),
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

fn scalar(function: FloatFunction, format: FloatFormat, mut x: [u64; 3]) -> u64 {
    let ty = format.ty;
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
    let mut result = match function {
        FloatFunction::Neg => x[0] ^ sign,
        FloatFunction::Abs => x[0] & !sign,
        // Sign of the first operand, magnitude of the second.
        FloatFunction::CopySign => x[0] & sign | x[1] & !sign,
        FloatFunction::Min | FloatFunction::Max => extreme(function, format, x[0], x[1]),
        _ => {
            let values = x.map(|bits| to_f64(bits, ty));
            if ty == Type::F32
                && format.rounding == Rounding::NearestEven
                && let Some(bits) = nearest32(function, x)
            {
                bits
            } else {
                let (value, rest) = exact(function, &values, ty);
                match ty {
                    Type::F64 => bits64(direct64(value, rest, format.rounding)),
                    _ => from_f64(value, rest, ty, format.rounding),
                }
            }
        }
    };
    if format.flush && ty == Type::F32 {
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
    if format.relu && value < 0.0 {
        result = 0;
    }
    result
}

/// f32 operations that the host rounds to nearest itself.
fn nearest32(function: FloatFunction, x: [u64; 3]) -> Option<u64> {
    let [a, b, c] = x.map(|bits| f32::from_bits(bits as u32));
    let value = match function {
        FloatFunction::Add => a + b,
        FloatFunction::Sub => a - b,
        FloatFunction::Mul => a * b,
        FloatFunction::Fma => a.mul_add(b, c),
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
            _ => bits,
        };
        to_f64(bits, format.ty)
    };
    let (a, b) = (read(a), read(b));
    match comparison {
        Comparison::FloatEqual => a == b,
        Comparison::FloatNotEqual => a < b || a > b,
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
        FloatProperty::Normal => normal,
        FloatProperty::Subnormal => subnormal,
    }
}

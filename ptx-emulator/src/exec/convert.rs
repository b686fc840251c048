//! `cvt` on one lane.

use super::float::{from_f64, to_f64};
use crate::ir::{Conversion, Rounding, is_float};
use ptx_syntax::ast::Type;

/// The low `bits` bits.
pub(crate) fn truncate(value: u64, bits: u32) -> u64 {
    match bits {
        64.. => value,
        _ => value & ((1 << bits) - 1),
    }
}

/// The low `bits` bits as a signed number.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    match bits {
        0 => 0,
        64.. => value as i64,
        _ => ((value << (64 - bits)) as i64) >> (64 - bits),
    }
}

/// The value in a wider register: sign-extended for signed types.
fn widen(value: u64, ty: Type, register_bits: u32) -> u64 {
    let bits = 8 * ty.bytes();
    let value = match ty.is_signed() {
        true => sign_extend(value, bits) as u64,
        false => truncate(value, bits),
    };
    truncate(value, register_bits)
}

pub(crate) fn evaluate(conversion: Conversion, bits: u64) -> u64 {
    let Conversion { to, from, .. } = conversion;
    match (is_float(from), is_float(to)) {
        (false, false) => {
            let value = integer_value(bits, from);
            let value = match conversion.saturate {
                true => clamp(value, to),
                false => value,
            };
            widen(value as u64, to, conversion.register_bits)
        }
        (false, true) => {
            let value = integer_value(bits, from);
            match conversion.saturate {
                // Of the integers, 0 and 1 lie in the range.
                true => from_integer(value.clamp(0, 1), to, conversion),
                false => from_integer(value, to, conversion),
            }
        }
        (true, false) => {
            let value = to_integer(
                source_value(bits, conversion),
                from,
                to,
                conversion.rounding,
            );
            widen(value, to, conversion.register_bits)
        }
        (true, true) => float_to_float(bits, conversion),
    }
}

fn integer_value(bits: u64, ty: Type) -> i128 {
    let width = 8 * ty.bytes();
    match ty.is_signed() {
        true => i128::from(sign_extend(bits, width)),
        false => i128::from(truncate(bits, width)),
    }
}

fn limits(ty: Type) -> (i128, i128) {
    let bits = 8 * ty.bytes();
    match ty.is_signed() {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    }
}

fn clamp(value: i128, ty: Type) -> i128 {
    let (least, most) = limits(ty);
    value.clamp(least, most)
}

fn from_integer(value: i128, to: Type, conversion: Conversion) -> u64 {
    // The f64 nearest to the value and the sign of what is missing round correctly to any type.
    let near = value as f64;
    let rest = (value - near as i128) as f64;
    if to == Type::F64 {
        let rounded = match conversion.rounding {
            Rounding::Zero if value >= 0 && rest < 0.0 => near.next_down(),
            Rounding::Zero if value < 0 && rest > 0.0 => near.next_up(),
            Rounding::Down if rest < 0.0 => near.next_down(),
            Rounding::Up if rest > 0.0 => near.next_up(),
            _ => near,
        };
        return rounded.to_bits();
    }
    from_f64(near, rest, to, conversion.rounding)
}

fn source_value(bits: u64, conversion: Conversion) -> f64 {
    let subnormal = bits & 0x7f80_0000 == 0;
    // Conversions to f16 take subnormals as they are, with `.ftz` too.
    let flushes = conversion.flush && conversion.to != Type::F16;
    if flushes && conversion.from == Type::F32 && subnormal {
        return to_f64(bits & 0x8000_0000, Type::F32);
    }
    to_f64(bits, conversion.from)
}

fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Clamped to the type's range; NaN as the ISA specifies for `cvt`.
fn to_integer(value: f64, from: Type, to: Type, rounding: Rounding) -> u64 {
    if value.is_nan() {
        let wide = from == Type::F64 || to.bytes() == 8;
        return if wide { 1 << (8 * to.bytes() - 1) } else { 0 };
    }
    clamp(integral(value, rounding) as i128, to) as u64
}

/// Whether an f64 that is rounded to f32 with `.ftz` becomes zero: where it lies below the smallest
/// normal number when it is rounded to 24 bits without a limit of its exponent.
pub(super) fn is_flushed(value: f64, rounding: Rounding) -> bool {
    const LEAST: f64 = f32::MIN_POSITIVE as f64;
    let away = match rounding {
        Rounding::NearestEven | Rounding::NearestAway => return value.abs() < NEAREST,
        Rounding::Zero => false,
        Rounding::Down => value < 0.0,
        Rounding::Up => value > 0.0,
    };
    /// Half of a 24-bit unit below the smallest normal number: it rounds up to that.
    const NEAREST: f64 = LEAST - LEAST / (1u64 << 25) as f64;
    const AWAY: f64 = LEAST - LEAST / (1u64 << 24) as f64;
    match away {
        true => value.abs() <= AWAY,
        false => value.abs() < LEAST,
    }
}

fn float_to_float(bits: u64, conversion: Conversion) -> u64 {
    let Conversion { to, from, .. } = conversion;
    let value = source_value(bits, conversion);
    if to == Type::Tf32 && conversion.rounding == Rounding::NearestAway {
        return to_tf32(bits as u32, conversion);
    }
    let clamped = conversion.saturate || conversion.relu;
    let mut result = match value.is_nan() && !clamped {
        true => nan(bits, conversion),
        false if conversion.to_integral => {
            let value = integral(value, conversion.rounding);
            from_f64(value, 0.0, to, Rounding::NearestEven)
        }
        false => from_f64(value, 0.0, to, conversion.rounding),
    };
    let flushed = match from {
        Type::F64 => is_flushed(value, conversion.rounding),
        _ => result & 0x7f80_0000 == 0,
    };
    if conversion.flush && to == Type::F32 && flushed {
        result &= 0x8000_0000;
        result |= u64::from(value.is_sign_negative()) << 31;
    }
    if conversion.finite && !value.is_nan() {
        result = to_finite(result, to);
    }
    if conversion.saturate {
        result = match value {
            value if value.is_nan() || value <= 0.0 => 0,
            value if value >= 1.0 => from_f64(1.0, 0.0, to, Rounding::NearestEven),
            _ => result,
        };
    }
    if conversion.relu && value <= 0.0 {
        result = 0;
    }
    result
}

/// The largest finite number in place of an infinity.
fn to_finite(bits: u64, ty: Type) -> u64 {
    let (infinity, step) = match ty {
        Type::F16 => (0x7c00, 1),
        Type::Bf16 => (0x7f80, 1),
        _ => (0x7f80_0000, 1 << 13),
    };
    match bits & infinity == infinity {
        true => bits - step,
        false => bits,
    }
}

/// `cvt.rna.tf32.f32`: an addition of integers, which leaves of a NaN the upper bits. `.satfinite`
/// takes NaNs as it takes infinities: an H200 makes 7fffc000 of 7fffffff.
fn to_tf32(bits: u32, conversion: Conversion) -> u64 {
    const INFINITY: u32 = 0x7f80_0000;
    let magnitude = bits & !(1 << 31);
    let rounded = match magnitude < INFINITY {
        true => bits + 0x1000,
        false => bits,
    };
    let result = u64::from(rounded & !0x1fff);
    match conversion.finite {
        true => to_finite(result, Type::Tf32),
        false => result,
    }
}

/// A NaN in another type: see [`super::float`].
fn nan(bits: u64, conversion: Conversion) -> u64 {
    let Conversion { to, from, .. } = conversion;
    if from == Type::Bf16 && to == Type::F32 && !conversion.flush {
        return bits << 16;
    }
    if from == Type::F32 && to == Type::F64 && conversion.flush {
        // `.ftz` makes it the one NaN of f32, which is then made wider.
        return 0x7fff_ffff_e000_0000;
    }
    if from != Type::F64 && to != Type::F64 {
        return from_f64(f64::NAN, 0.0, to, Rounding::NearestEven);
    }
    // (bits of the type, bits of its exponent)
    let layout = |ty| match ty {
        Type::F64 => (64, 11),
        Type::F16 => (16, 5),
        Type::Bf16 => (16, 8),
        _ => (32, 8),
    };
    let ((from_bits, from_exponent), (to_bits, to_exponent)) = (layout(from), layout(to));
    let sign = bits >> (from_bits - 1) & 1;
    // The payload, moved to the top of 64 bits.
    let payload = bits << (64 - from_bits) << (1 + from_exponent);
    let exponent = (1u64 << to_exponent) - 1;
    let fraction_bits = to_bits - 1 - to_exponent;
    let fraction = payload >> (64 - fraction_bits) | 1 << (fraction_bits - 1);
    sign << (to_bits - 1) | exponent << fraction_bits | fraction
}

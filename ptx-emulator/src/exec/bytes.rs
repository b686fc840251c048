//! Conversions to and from 8-bit floats (`e4m3`, `e5m2`), in pairs.

use super::convert::truncate;
use super::float::{from_f64, to_f64};
use crate::ir::{ByteConversion, Rounding};
use ptx_syntax::ast::Type;

/// The NaN of both formats.
const NAN: u64 = 0x7f;

/// The largest finite number: 448, and 57344.
fn largest(ty: Type) -> u64 {
    match ty {
        Type::E4m3x2 => 0x7e,
        _ => 0x7b,
    }
}

/// The nearest 8-bit float; what is larger than the largest one becomes that.
fn narrow(value: f64, ty: Type) -> u64 {
    if value.is_nan() {
        return NAN;
    }
    let (fraction_bits, bias) = match ty {
        Type::E4m3x2 => (3, 7),
        _ => (2, 15),
    };
    let sign = u64::from(value.is_sign_negative()) << 7;
    let magnitude = value.abs();
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let exponent = exponent.max(1 - bias);
    // In units of the last place: exact, and rounded to the nearest even number.
    let units = magnitude * f64::from(fraction_bits - exponent).exp2();
    let rounded = units.round_ties_even();
    // The implicit bit adds itself to the exponent field.
    let field = (exponent + bias - 1) as f64;
    let bits = field * f64::from(1 << fraction_bits) + rounded;
    let most = largest(ty);
    sign | match bits <= most as f64 {
        true => bits as u64,
        false => most,
    }
}

/// An 8-bit float as f64.
fn widen(bits: u64, ty: Type) -> f64 {
    match ty {
        // The upper half of an f16.
        Type::E5m2x2 => to_f64(bits << 8, Type::F16),
        _ => {
            let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
            let fraction = (bits & 7) as f64;
            sign * match bits >> 3 & 0xf {
                0xf if bits & 7 == 7 => f64::NAN,
                0 => fraction * (-9f64).exp2(),
                exponent => (8.0 + fraction) * (exponent as f64 - 10.0).exp2(),
            }
        }
    }
}

pub(super) fn convert(conversion: ByteConversion, x: [u64; 2]) -> u64 {
    let ByteConversion {
        bytes,
        other,
        narrows,
        relu,
    } = conversion;
    // Of two f32, the first goes into the upper half.
    let field = |at: u32| -> f64 {
        match (narrows, other) {
            (true, Type::F32) => to_f64(x[1 - at as usize], Type::F32),
            (true, _) => to_f64(truncate(x[0] >> (16 * at), 16), Type::F16),
            (false, _) => widen(truncate(x[0] >> (8 * at), 8), bytes),
        }
    };
    let half = |at: u32| {
        let value = field(at);
        let value = if relu && value <= 0.0 { 0.0 } else { value };
        match narrows {
            true => narrow(value, bytes) << (8 * at),
            false => from_f64(value, 0.0, Type::F16, Rounding::NearestEven) << (16 * at),
        }
    };
    half(0) | half(1)
}

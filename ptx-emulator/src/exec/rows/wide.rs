//! Operations with operands or results of 64 bits.

use super::super::float::{NAN32, bits32, bits64, upper_half};
use super::super::vector::LANES;
use crate::ir::{Conversion, FloatFormat, FloatFunction, IntegerFunction, LaneFunction, Rounding};
use ptx_syntax::ast::Type;

/// A 64-bit value for each lane.
pub(in super::super) type WideLanes = [u64; LANES];

/// The operands; words are zero-extended.
pub(in super::super) type WideOperands<'a> = [&'a WideLanes; 3];

/// As [`super::evaluate`].
#[inline(always)]
pub(in super::super) fn evaluate(
    function: LaneFunction,
    [a, b, c]: WideOperands<'_>,
) -> Option<WideLanes> {
    match function {
        LaneFunction::Integer(function, Type::U64 | Type::B64) => unsigned(function, [a, b, c]),
        LaneFunction::Integer(function, Type::S64) => signed(function, [a, b, c]),
        LaneFunction::Float(function, format) => double(function, format, a),
        LaneFunction::Convert(conversion) => convert(conversion, a),
        LaneFunction::InsertBits { shift, bits } if bits > 0 && shift + bits <= 64 => {
            let mask = u64::MAX >> (64 - bits) << shift;
            row!(|i| a[i] & !mask | b[i] << shift & mask)
        }
        LaneFunction::ExtractBits {
            shift,
            bits,
            signed: false,
        } if bits > 0 && shift + bits <= 64 => {
            row!(|i| a[i] >> shift & (u64::MAX >> (64 - bits)))
        }
        _ => None,
    }
}

#[inline(always)]
fn unsigned(function: IntegerFunction, [a, b, _]: WideOperands<'_>) -> Option<WideLanes> {
    match function {
        IntegerFunction::PopulationCount => row!(|i| u64::from(a[i].count_ones())),
        IntegerFunction::LeadingZeros => row!(|i| u64::from(a[i].leading_zeros())),
        IntegerFunction::ReverseBits => row!(|i| a[i].reverse_bits()),
        IntegerFunction::Div => row!(|i| a[i].checked_div(b[i]).unwrap_or(u64::MAX)),
        IntegerFunction::Rem => row!(|i| a[i].checked_rem(b[i]).unwrap_or(u64::MAX)),
        _ => None,
    }
}

#[inline(always)]
fn signed(function: IntegerFunction, [a, b, _]: WideOperands<'_>) -> Option<WideLanes> {
    let divided = |a: u64, b: u64, f: fn(i64, i64) -> i64| match b {
        0 => u64::MAX,
        b => f(a as i64, b as i64) as u64,
    };
    match function {
        IntegerFunction::Abs => row!(|i| (a[i] as i64).wrapping_abs() as u64),
        IntegerFunction::Div => row!(|i| divided(a[i], b[i], i64::wrapping_div)),
        IntegerFunction::Rem => row!(|i| divided(a[i], b[i], i64::wrapping_rem)),
        _ => None,
    }
}

#[inline(always)]
fn double(function: FloatFunction, format: FloatFormat, a: &WideLanes) -> Option<WideLanes> {
    let of = f64::from_bits;
    let plain = FloatFormat::new(Type::F64);
    match function {
        FloatFunction::Rcp if format == plain => row!(|i| bits64(1.0 / of(a[i]), [a[i]])),
        FloatFunction::Sqrt if format == plain => row!(|i| bits64(of(a[i]).sqrt(), [a[i]])),
        FloatFunction::RsqrtApprox if format == plain => {
            row!(|i| bits64(1.0 / of(a[i]).sqrt(), [a[i]]))
        }
        FloatFunction::RcpApprox if format == plain.flushing(true) => {
            row!(|i| upper_half(a[i], |value| 1.0 / value))
        }
        FloatFunction::RsqrtApprox if format == plain.flushing(true) => {
            row!(|i| upper_half(a[i], |value| 1.0 / value.sqrt()))
        }
        _ => None,
    }
}

/// An integral value, in the roundings for which processors have an instruction.
#[inline(always)]
fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::Zero | Rounding::NearestAway => value.trunc(),
    }
}

/// Conversions to integers. What is too large becomes the largest; NaN has a rule of its own.
#[inline(always)]
fn to_integer(conversion: Conversion, a: &WideLanes) -> Option<WideLanes> {
    let Conversion {
        to, from, rounding, ..
    } = conversion;
    if rounding == Rounding::NearestAway {
        return None;
    }
    macro_rules! of {
        ($read:expr, $ty:ty, $nan:expr) => {
            row!(|i| {
                let value: f64 = $read(a[i]);
                match value.is_nan() {
                    true => $nan,
                    false => integral(value, rounding) as $ty as u64,
                }
            })
        };
    }
    // Exact, and a whole number of one type is one of the other.
    let single = |x: u64| f64::from(f32::from_bits(x as u32));
    match (from, to) {
        (Type::F64, Type::S32) => of!(f64::from_bits, i32, 1 << 31),
        (Type::F64, Type::U32) => of!(f64::from_bits, u32, 1 << 31),
        (Type::F64, Type::S64) => of!(f64::from_bits, i64, 1 << 63),
        (Type::F64, Type::U64) => of!(f64::from_bits, u64, 1 << 63),
        (Type::F32, Type::S64) => of!(single, i64, 1 << 63),
        (Type::F32, Type::U64) => of!(single, u64, 1 << 63),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn convert(conversion: Conversion, a: &WideLanes) -> Option<WideLanes> {
    let Conversion {
        to,
        from,
        rounding,
        to_integral,
        flush,
        saturate,
        finite,
        relu,
        register_bits,
    } = conversion;
    if flush || saturate || finite || relu {
        return None;
    }
    let nearest = rounding == Rounding::NearestEven && !to_integral;
    let single = |x: u64| f32::from_bits(x as u32);
    match (from, to) {
        (Type::F64, Type::F32) if nearest => row!(|i| {
            let value = f64::from_bits(a[i]);
            u64::from(if value.is_nan() {
                narrow_nan(a[i])
            } else {
                (value as f32).to_bits()
            })
        }),
        (Type::F32, Type::F64) if !to_integral => row!(|i| {
            let value = f64::from(single(a[i]));
            // The host makes a signalling NaN quiet in the same way.
            if value.is_nan() {
                wide_nan(a[i] as u32)
            } else {
                value.to_bits()
            }
        }),
        (Type::S32, Type::F64) if nearest => row!(|i| f64::from(a[i] as i32).to_bits()),
        (Type::U32, Type::F64) if nearest => row!(|i| f64::from(a[i] as u32).to_bits()),
        (Type::S64, Type::F64) if nearest => row!(|i| (a[i] as i64 as f64).to_bits()),
        (Type::U64, Type::F64) if nearest => row!(|i| (a[i] as f64).to_bits()),
        (Type::S64, Type::F32) if nearest => {
            row!(|i| u64::from(bits32(a[i] as i64 as f32)))
        }
        (Type::U64, Type::F32) if nearest => row!(|i| u64::from(bits32(a[i] as f32))),
        (Type::F64, Type::F64) if to_integral && rounding != Rounding::NearestAway => row!(|i| {
            let value = f64::from_bits(a[i]);
            bits64(integral(value, rounding), [a[i]])
        }),
        (Type::F64, Type::S32 | Type::U32 | Type::S64 | Type::U64)
        | (Type::F32, Type::S64 | Type::U64) => to_integer(conversion, a),
        (Type::S32, Type::U64 | Type::S64) if register_bits == 64 => {
            row!(|i| a[i] as i32 as u64)
        }
        (Type::U32 | Type::B32, Type::U64 | Type::S64) => row!(|i| a[i] & 0xffff_ffff),
        (Type::U64 | Type::S64 | Type::B64, Type::U32 | Type::S32) if register_bits == 32 => {
            row!(|i| a[i] & 0xffff_ffff)
        }
        (Type::U8 | Type::B8, Type::U64 | Type::S64) => row!(|i| a[i] & 0xff),
        (Type::U16 | Type::B16, Type::U64 | Type::S64) => row!(|i| a[i] & 0xffff),
        (Type::S8, Type::U64 | Type::S64) if register_bits == 64 => {
            row!(|i| a[i] as i8 as u64)
        }
        (Type::S16, Type::U64 | Type::S64) if register_bits == 64 => {
            row!(|i| a[i] as i16 as u64)
        }
        (Type::U64 | Type::S64 | Type::B64, Type::U8) => row!(|i| a[i] & 0xff),
        (Type::U64 | Type::S64 | Type::B64, Type::U16) => row!(|i| a[i] & 0xffff),
        _ => None,
    }
}

/// The NaN of an f64 in f32: its sign and the upper bits of its payload, made quiet.
#[inline(always)]
fn narrow_nan(bits: u64) -> u32 {
    let sign = (bits >> 32) as u32 & 1 << 31;
    let payload = (bits >> 29) as u32 & 0x007f_ffff;
    sign | NAN32 & 0x7f80_0000 | 0x0040_0000 | payload
}

/// The NaN of an f32 in f64, made quiet.
#[inline(always)]
fn wide_nan(bits: u32) -> u64 {
    let sign = u64::from(bits >> 31) << 63;
    let payload = u64::from(bits & 0x007f_ffff) << 29;
    sign | 0x7ff8_0000_0000_0000 | payload
}

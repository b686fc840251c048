//! Conversions between words.

use super::super::float::bits32;
use super::super::vector::{LANES, Lanes32};
use super::float::{flush, from_flushed};
use super::half::{from_bf16, from_f16, odd, to_bf16, to_f16};
use crate::ir::{Conversion, Rounding, is_float};
use ptx_syntax::ast::Type;

#[inline(always)]
pub(super) fn convert(conversion: Conversion, a: &Lanes32) -> Option<Lanes32> {
    let Conversion {
        to,
        from,
        finite,
        relu,
        register_bits,
        ..
    } = conversion;
    if finite || relu || register_bits > 32 || to.bytes() > 4 || from.bytes() > 4 {
        return None;
    }
    match (is_float(from), is_float(to)) {
        (false, false) => integers(conversion, a),
        (false, true) => from_integer(conversion, a),
        (true, false) => to_integer(conversion, a),
        (true, true) => floats(conversion, a),
    }
}

/// How an integer type of up to 32 bits reads a word.
#[inline(always)]
fn integer(ty: Type) -> impl Fn(u32) -> i64 + Copy {
    let unused = 32 - 8 * ty.bytes();
    let signed = ty.is_signed();
    move |word: u32| match signed {
        true => i64::from((word << unused) as i32 >> unused),
        false => i64::from(word << unused >> unused),
    }
}

/// How a register of up to 32 bits holds an integer of a type.
#[inline(always)]
fn held(ty: Type, register_bits: u32) -> impl Fn(i64) -> u32 + Copy {
    let read = integer(ty);
    let register = u32::MAX >> (32 - register_bits.clamp(1, 32));
    move |value: i64| read(value as u32) as u32 & register
}

#[inline(always)]
fn limits(ty: Type) -> (i64, i64) {
    let bits = 8 * ty.bytes().min(4);
    match ty.is_signed() {
        true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        false => (0, (1i64 << bits) - 1),
    }
}

#[inline(always)]
fn integers(conversion: Conversion, a: &Lanes32) -> Option<Lanes32> {
    let Conversion { to, from, .. } = conversion;
    let (read, write) = (integer(from), held(to, conversion.register_bits));
    match conversion.saturate {
        true => {
            let (least, most) = limits(to);
            row!(|i| write(read(a[i]).clamp(least, most)))
        }
        false => row!(|i| write(read(a[i]))),
    }
}

#[inline(always)]
pub(super) fn from_integer(conversion: Conversion, a: &Lanes32) -> Option<Lanes32> {
    let Conversion { to, from, .. } = conversion;
    if conversion.saturate || conversion.rounding != Rounding::NearestEven {
        return None;
    }
    let read = integer(from);
    match (to, from) {
        (Type::F32, Type::S32) => row!(|i| (a[i] as i32 as f32).to_bits()),
        (Type::F32, Type::U32 | Type::B32) => row!(|i| (a[i] as f32).to_bits()),
        (Type::F32, _) => row!(|i| (read(a[i]) as i32 as f32).to_bits()),
        (Type::F16, _) => row!(|i| to_f16(odd(read(a[i]) as f64, 0.0))),
        (Type::Bf16, _) => row!(|i| to_bf16(odd(read(a[i]) as f64, 0.0))),
        _ => None,
    }
}

/// An integral value.
#[inline(always)]
fn integral(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

#[inline(always)]
pub(super) fn to_integer(conversion: Conversion, a: &Lanes32) -> Option<Lanes32> {
    let Conversion {
        to,
        from,
        rounding,
        flush,
        ..
    } = conversion;
    let write = held(to, conversion.register_bits);
    // NaN becomes 0, and what is too large the largest.
    macro_rules! of {
        ($read:expr) => {
            match to {
                Type::S32 => row!(|i| integral($read(a[i]), rounding) as i32 as u32),
                Type::U32 | Type::B32 => row!(|i| integral($read(a[i]), rounding) as u32),
                _ => {
                    let (least, most) = limits(to);
                    let (least, most) = (least as i32, most as i32);
                    row!(|i| {
                        let whole = integral($read(a[i]), rounding) as i32;
                        write(i64::from(whole.clamp(least, most)))
                    })
                }
            }
        };
    }
    match (from, flush) {
        (Type::F32, false) => of!(f32::from_bits),
        (Type::F32, true) => of!(from_flushed),
        (Type::F16, false) => of!(from_f16),
        (Type::Bf16, false) => of!(from_bf16),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn floats(conversion: Conversion, a: &Lanes32) -> Option<Lanes32> {
    let Conversion {
        to,
        from,
        rounding,
        to_integral,
        flush: flushes,
        saturate,
        ..
    } = conversion;
    if (from, to) == (Type::F32, Type::F32) {
        let read = |bits: u32| f32::from_bits(if flushes { flush(bits) } else { bits });
        let finish = |value: f32| {
            let bits = bits32(value);
            let clamped = if value > 0.0 {
                bits.min(1f32.to_bits())
            } else {
                0
            };
            if saturate { clamped } else { bits }
        };
        return match to_integral {
            true => row!(|i| finish(integral(read(a[i]), rounding))),
            false => row!(|i| finish(read(a[i]))),
        };
    }
    if (from, to, rounding) == (Type::F32, Type::Tf32, Rounding::NearestAway) {
        return row!(|i| {
            let is_finite = a[i] & !(1 << 31) < 0x7f80_0000;
            a[i].wrapping_add(if is_finite { 0x1000 } else { 0 }) & !0x1fff
        });
    }
    if flushes || saturate || to_integral || rounding != Rounding::NearestEven {
        return None;
    }
    match (from, to) {
        (Type::F16, Type::F32) => row!(|i| bits32(from_f16(a[i]))),
        (Type::Bf16, Type::F32) => row!(|i| a[i] << 16),
        (Type::F32, Type::F16) => row!(|i| to_f16(f32::from_bits(a[i]))),
        (Type::F32, Type::Bf16) => row!(|i| to_bf16(f32::from_bits(a[i]))),
        _ => None,
    }
}

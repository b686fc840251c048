//! f16 and bf16.

use super::super::vector::{LANES, Lanes32};
use super::Operands;
use crate::ir::{FloatFormat, FloatFunction};
use ptx_syntax::ast::Type;

/// The low half of a word as f16.
#[inline(always)]
pub(super) fn from_f16(bits: u32) -> f32 {
    let magnitude = (bits & 0x7fff) << 13;
    // 2^112 moves the exponent, of subnormals too.
    let value = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let special = f32::from_bits(magnitude | 0x7f80_0000);
    let value = if bits & 0x7c00 == 0x7c00 {
        special
    } else {
        value
    };
    f32::from_bits(value.to_bits() | (bits & 0x8000) << 16)
}

#[inline(always)]
pub(super) fn from_bf16(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// The nearest f16.
#[inline(always)]
pub(super) fn to_f16(value: f32) -> u32 {
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    // The sum has the last place of a subnormal f16 as its own.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5f32.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = (magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd)) >> 13;
    let small = magnitude < 113 << 23;
    let finite = if small { subnormal } else { normal };
    let large = magnitude >= 0x477f_f000;
    let finite = if large { 0x7c00 } else { finite };
    match magnitude > 0x7f80_0000 {
        true => 0x7fff,
        false => sign | finite,
    }
}

/// The nearest bf16.
#[inline(always)]
pub(super) fn to_bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    let odd = bits >> 16 & 1;
    match value.is_nan() {
        true => 0x7fff,
        false => bits.wrapping_add(0x7fff + odd) >> 16,
    }
}

/// An f64 sum in f32, rounded to odd, so that another rounding gives the nearest value of fewer
/// bits. The sum of a product of two 16-bit floats and a third one.
#[inline(always)]
fn odd_sum(product: f64, addend: f64) -> f32 {
    let sum = product + addend;
    let of_addend = sum - product;
    let rest = (product - (sum - of_addend)) + (addend - of_addend);
    let near = sum as f32;
    // The sign of what is missing from the f32.
    let off = (sum - f64::from(near)) + rest;
    let bits = near.to_bits();
    let is_even = bits & 1 == 0;
    let towards = off != 0.0 && is_even && near.is_finite();
    // Away from zero, or towards it; a zero has a neighbour on the side of the rest.
    let up = (off > 0.0) == (near.to_bits() >> 31 == 0);
    let neighbour = if up {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let is_zero = near == 0.0;
    let from_zero = 1 | ((off < 0.0) as u32) << 31;
    let neighbour = if is_zero { from_zero } else { neighbour };
    f32::from_bits(if towards { neighbour } else { bits })
}

/// f16 and bf16, and pairs of them, rounded to nearest.
#[inline(always)]
pub(super) fn half(
    function: FloatFunction,
    format: FloatFormat,
    x: Operands<'_>,
) -> Option<Lanes32> {
    let plain = FloatFormat::new(format.ty);
    if format != plain {
        return None;
    }
    match format.ty {
        Type::F16 | Type::F16x2 => halves(function, format.ty == Type::F16x2, x, from_f16, to_f16),
        _ => halves(function, format.ty == Type::Bf16x2, x, from_bf16, to_bf16),
    }
}

#[inline(always)]
fn halves(
    function: FloatFunction,
    is_pair: bool,
    [a, b, c]: Operands<'_>,
    read: impl Fn(u32) -> f32,
    write: impl Fn(f32) -> u32,
) -> Option<Lanes32> {
    macro_rules! on_halves {
        (|$x:ident, $y:ident, $z:ident| $value:expr) => {
            match is_pair {
                true => row!(|i| {
                    let ($x, $y, $z) = (
                        read(a[i] & 0xffff),
                        read(b[i] & 0xffff),
                        read(c[i] & 0xffff),
                    );
                    let low = write($value);
                    let ($x, $y, $z) = (read(a[i] >> 16), read(b[i] >> 16), read(c[i] >> 16));
                    low | write($value) << 16
                }),
                false => row!(|i| {
                    let ($x, $y, $z) = (
                        read(a[i] & 0xffff),
                        read(b[i] & 0xffff),
                        read(c[i] & 0xffff),
                    );
                    write($value)
                }),
            }
        };
    }
    // 24 bits are enough for one operation on 11 bits, rounded twice.
    match function {
        FloatFunction::Add => on_halves!(|x, y, _z| x + y),
        FloatFunction::Sub => on_halves!(|x, y, _z| x - y),
        FloatFunction::Mul => on_halves!(|x, y, _z| x * y),
        FloatFunction::Fma => {
            on_halves!(|x, y, z| odd_sum(f64::from(x) * f64::from(y), f64::from(z)))
        }
        _ => None,
    }
}

//! f16 and bf16.

use super::super::approximate as series;
use super::super::float::{max32, min32};
use super::super::vector::{LANES, Lanes32};
use super::Operands;
use crate::ir::{FloatFormat, FloatFunction, Rounding};
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

/// A sum of two doubles in f32, rounded to odd, so that another rounding gives the nearest value of
/// fewer bits.
#[inline(always)]
fn odd_sum(product: f64, addend: f64) -> f32 {
    let sum = product + addend;
    let of_addend = sum - product;
    let rest = (product - (sum - of_addend)) + (addend - of_addend);
    odd(sum, rest)
}

/// A value, and what it lacks, in f32, rounded to odd.
#[inline(always)]
pub(super) fn odd(value: f64, rest: f64) -> f32 {
    let near = value as f32;
    // The sign of what is missing from the f32.
    let off = (value - f64::from(near)) + rest;
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

/// The sign of both formats.
const SIGN: u32 = 0x8000;

/// A fused multiply-add of f16 values in f32, rounded to odd. The product of two is exact, and so
/// is what the sum lacks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(in super::super) fn odd_fma(x: f32, y: f32, z: f32) -> f32 {
    let product = x * y;
    let sum = product + z;
    let of_addend = sum - product;
    let rest = (product - (sum - of_addend)) + (z - of_addend);
    let bits = sum.to_bits();
    let towards = (rest != 0.0) & (bits & 1 == 0) & sum.is_finite();
    let up = (rest > 0.0) == (bits >> 31 == 0);
    let neighbour = if up {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    f32::from_bits(if towards { neighbour } else { bits })
}

/// What follows the rounding of a result.
#[derive(Clone, Copy)]
struct Finish {
    flushes: bool,
    saturates: bool,
    relu: bool,
    infinity: u32,
    one: u32,
}

impl Finish {
    /// Of an operand or a result: without subnormals.
    #[inline(always)]
    fn flush(self, bits: u32) -> u32 {
        match self.flushes && bits & self.infinity == 0 {
            true => bits & SIGN,
            false => bits,
        }
    }

    #[inline(always)]
    fn result(self, bits: u32) -> u32 {
        let bits = self.flush(bits);
        // Zeros and negative numbers. The one NaN is positive.
        let is_low = (bits & SIGN != 0) | (bits == 0);
        let bits = if self.relu & is_low { 0 } else { bits };
        let is_low = is_low | (bits > self.infinity);
        let clamped = if is_low { 0 } else { bits.min(self.one) };
        if self.saturates { clamped } else { bits }
    }
}

/// f16 and bf16, and pairs of them, rounded to nearest.
#[inline(always)]
pub(super) fn half(
    function: FloatFunction,
    format: FloatFormat,
    is_f16: bool,
    x: Operands<'_>,
) -> Option<Lanes32> {
    if format.rounding != Rounding::NearestEven || format.xor_sign || format.flush && !is_f16 {
        return None;
    }
    let finish = Finish {
        flushes: format.flush,
        saturates: format.saturate,
        relu: format.relu,
        infinity: if is_f16 { 0x7c00 } else { 0x7f80 },
        one: if is_f16 { 0x3c00 } else { 0x3f80 },
    };
    let (nan_wins, is_pair) = (
        format.nan_wins,
        matches!(format.ty, Type::F16x2 | Type::Bf16x2),
    );
    // The most frequent ones without a question in each lane.
    let plain = format == FloatFormat::new(format.ty);
    match (is_f16, plain) {
        (true, true) => halves(function, (is_pair, false), x, F16),
        (false, true) => halves(function, (is_pair, false), x, Bf16),
        (true, false) => halves(function, (is_pair, nan_wins), x, Finished(F16, finish)),
        (false, false) => halves(function, (is_pair, nan_wins), x, Finished(Bf16, finish)),
    }
}

/// A format of 16 bits.
trait HalfFormat: Copy {
    fn read(self, bits: u32) -> f32;
    fn write(self, value: f32) -> u32;
}

#[derive(Clone, Copy)]
struct F16;

impl HalfFormat for F16 {
    #[inline(always)]
    fn read(self, bits: u32) -> f32 {
        from_f16(bits)
    }

    #[inline(always)]
    fn write(self, value: f32) -> u32 {
        to_f16(value)
    }
}

#[derive(Clone, Copy)]
struct Bf16;

impl HalfFormat for Bf16 {
    #[inline(always)]
    fn read(self, bits: u32) -> f32 {
        from_bf16(bits)
    }

    #[inline(always)]
    fn write(self, value: f32) -> u32 {
        to_bf16(value)
    }
}

/// A format with modifiers.
#[derive(Clone, Copy)]
struct Finished<F>(F, Finish);

impl<F: HalfFormat> HalfFormat for Finished<F> {
    #[inline(always)]
    fn read(self, bits: u32) -> f32 {
        self.0.read(self.1.flush(bits))
    }

    #[inline(always)]
    fn write(self, value: f32) -> u32 {
        self.1.result(self.0.write(value))
    }
}

#[inline(always)]
fn halves(
    function: FloatFunction,
    (is_pair, nan_wins): (bool, bool),
    [a, b, c]: Operands<'_>,
    format: impl HalfFormat,
) -> Option<Lanes32> {
    // A row, or a pair of halves in each lane, from an expression of the operands' values.
    macro_rules! each {
        (|$x:ident, $y:ident, $z:ident| $value:expr) => {
            match is_pair {
                true => row!(|i| {
                    let ($x, $y, $z) = (
                        format.read(a[i] & 0xffff),
                        format.read(b[i] & 0xffff),
                        format.read(c[i] & 0xffff),
                    );
                    let low = format.write($value);
                    let ($x, $y, $z) = (
                        format.read(a[i] >> 16),
                        format.read(b[i] >> 16),
                        format.read(c[i] >> 16),
                    );
                    low | format.write($value) << 16
                }),
                false => row!(|i| {
                    let ($x, $y, $z) = (
                        format.read(a[i] & 0xffff),
                        format.read(b[i] & 0xffff),
                        format.read(c[i] & 0xffff),
                    );
                    format.write($value)
                }),
            }
        };
    }
    // 24 bits are enough for one operation on 11 bits, rounded twice.
    match function {
        FloatFunction::Add => each!(|x, y, _z| x + y),
        FloatFunction::Sub => each!(|x, y, _z| x - y),
        FloatFunction::Mul => each!(|x, y, _z| x * y),
        FloatFunction::Fma => {
            each!(|x, y, z| odd_sum(f64::from(x) * f64::from(y), f64::from(z)))
        }
        FloatFunction::Min => {
            each!(|x, y, _z| extreme(nan_wins, x, y, min32(x.to_bits(), y.to_bits())))
        }
        FloatFunction::Max => {
            each!(|x, y, _z| extreme(nan_wins, x, y, max32(x.to_bits(), y.to_bits())))
        }
        FloatFunction::Neg => each!(|x, _y, _z| -x),
        FloatFunction::Abs => each!(|x, _y, _z| x.abs()),
        FloatFunction::Exp2 => each!(|x, _y, _z| odd(series::exp2(f64::from(x)), 0.0)),
        FloatFunction::Tanh => each!(|x, _y, _z| odd(series::tanh(f64::from(x)), 0.0)),
        _ => None,
    }
}

/// `bits`, the extreme of two numbers; with `.NaN`, NaN where one of them is that.
#[inline(always)]
fn extreme(nan_wins: bool, x: f32, y: f32, bits: u32) -> f32 {
    let is_nan = x.is_nan() | y.is_nan();
    let wins = nan_wins & is_nan;
    f32::from_bits(if wins { 0x7fff_ffff } else { bits })
}

//! Conversions to and from floats of at most 8 bits, by the bits of f32: all their numbers are
//! numbers of f32, and of both 16-bit types. What random bits round, or `.rz`, is left to lanes.

use super::super::bytes;
use super::super::vector::{LANES, Lanes32};
use super::Operands;
use super::half::{from_bf16, from_f16, to_bf16, to_f16};
use crate::ir::{Rounding, SmallConversion, SmallFloat};
use ptx_syntax::ast::Type;

/// A format with subnormal numbers.
#[derive(Clone, Copy)]
struct Format {
    fraction_bits: u32,
    bias: u32,
    sign: u32,
    /// The bits of the largest finite number, and those of a NaN that a conversion gives.
    largest: u32,
    nan: u32,
    /// From which magnitude on a pattern is a NaN, or an infinity where there is one.
    special: u32,
    infinity: Option<u32>,
    /// Bits from one element of a pair to the next.
    width: u32,
}

impl Format {
    #[inline(always)]
    fn of(small: SmallFloat) -> Option<Self> {
        if small == SmallFloat::Ue8m0 {
            return None;
        }
        let format = bytes::Format::of(small);
        let largest = format.largest as u32;
        Some(Format {
            fraction_bits: format.fraction_bits as u32,
            bias: format.bias() as u32,
            sign: format.sign() as u32,
            largest,
            nan: format.nan.map_or(largest, |nan| nan as u32),
            // All patterns of a format without NaNs are finite.
            special: largest + 1,
            infinity: (small == SmallFloat::E5m2).then_some(largest + 1),
            width: bytes::width(small),
        })
    }

    #[inline(always)]
    fn widen(self, bits: u32) -> f32 {
        let magnitude = bits & (self.sign - 1);
        // The power moves the exponent, of subnormals too.
        let value = f32::from_bits(magnitude << (23 - self.fraction_bits))
            * f32::from_bits((254 - self.bias) << 23);
        let special = match self.infinity {
            Some(infinity) if magnitude == infinity => f32::INFINITY,
            _ => f32::NAN,
        };
        let value = if magnitude >= self.special {
            special
        } else {
            value
        };
        let sign = if bits & self.sign == 0 { 0 } else { 1 << 31 };
        f32::from_bits(value.to_bits() | sign)
    }

    /// The nearest number, not beyond the largest.
    #[inline(always)]
    fn narrow(self, value: f32) -> u32 {
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let shift = 23 - self.fraction_bits;
        // The last place of a subnormal is that of the sum.
        let power = f32::from_bits((128 - self.bias + shift) << 23);
        let subnormal = (f32::from_bits(magnitude) + power)
            .to_bits()
            .wrapping_sub(power.to_bits());
        let odd = magnitude >> shift & 1;
        let half = (1 << (shift - 1)) - 1 + odd;
        let normal = magnitude
            .wrapping_sub((127 - self.bias) << 23)
            .wrapping_add(half)
            >> shift;
        let is_small = magnitude < (128 - self.bias) << 23;
        let found = if is_small { subnormal } else { normal };
        // What is larger than the largest by a place and more; sums do not wrap below it.
        let found = found.min(self.largest);
        let found = if magnitude >= 0x7f80_0000 {
            self.largest
        } else {
            found
        };
        let sign = if bits >> 31 == 0 { 0 } else { self.sign };
        match magnitude > 0x7f80_0000 {
            true => self.nan,
            false => found | sign,
        }
    }
}

/// A power of two: the exponent of the magnitude, or one more where `up` and the number lies above
/// it.
#[inline(always)]
fn narrow_exponent(value: f32, up: bool, largest: u32) -> u32 {
    // 2^-127 is subnormal.
    let least = 0x0040_0000;
    let magnitude = (value.to_bits() & 0x7fff_ffff).max(least);
    let is_power = magnitude & 0x007f_ffff == 0 || magnitude == least;
    let field = (magnitude >> 23) + u32::from(up && !is_power);
    match magnitude > 0x7f80_0000 {
        true => 0xff,
        false => field.min(largest),
    }
}

#[inline(always)]
fn widen_exponent(bits: u32) -> f32 {
    match bits {
        0 => f32::from_bits(0x0040_0000),
        0xff => f32::NAN,
        bits => f32::from_bits(bits << 23),
    }
}

/// A conversion of a pair; none where it is left to lanes.
#[inline(always)]
pub(super) fn convert(conversion: SmallConversion, x: Operands<'_>) -> Option<Lanes32> {
    let SmallConversion {
        small,
        other,
        narrows,
        relu,
        finite,
        rounding,
    } = conversion;
    let format = Format::of(small);
    if !narrows {
        // An infinity that becomes the largest number of another format is rare.
        let rare = finite && small == SmallFloat::E5m2;
        let to = (!rare && !relu).then_some(other)?;
        return match (format, to) {
            (Some(format), Type::F16x2) => {
                widened(x[0], format.width, |bits| to_f16(format.widen(bits)))
            }
            (Some(format), Type::Bf16x2) => {
                widened(x[0], format.width, |bits| to_bf16(format.widen(bits)))
            }
            (None, Type::Bf16x2) => widened(x[0], 8, |bits| to_bf16(widen_exponent(bits))),
            _ => None,
        };
    }
    match (format, rounding) {
        (None, Some(rounding @ (Rounding::Zero | Rounding::Up))) if !relu => {
            let largest = if finite { 0xfe } else { 0xff };
            let up = rounding == Rounding::Up;
            narrowed(other, x, 8, |value| narrow_exponent(value, up, largest))
        }
        (Some(format), Some(Rounding::NearestEven)) => narrowed(other, x, format.width, |value| {
            let is_cut = relu && value <= 0.0;
            format.narrow(if is_cut { 0.0 } else { value })
        }),
        _ => None,
    }
}

#[inline(always)]
fn widened(a: &Lanes32, width: u32, widen: impl Fn(u32) -> u32) -> Option<Lanes32> {
    let mask = u32::MAX >> (32 - width);
    row!(|i| widen(a[i] & mask) | widen(a[i] >> width & mask) << 16)
}

/// Of two f32, the first goes into the upper place.
#[inline(always)]
fn narrowed(
    from: Type,
    [a, b, _]: Operands<'_>,
    width: u32,
    narrow: impl Fn(f32) -> u32,
) -> Option<Lanes32> {
    macro_rules! pair {
        ($read:expr) => {
            row!(|i| narrow($read(a[i] & 0xffff)) | narrow($read(a[i] >> 16)) << width)
        };
    }
    match from {
        Type::F32 => row!(|i| narrow(f32::from_bits(b[i])) | narrow(f32::from_bits(a[i])) << width),
        Type::F16x2 => pair!(from_f16),
        Type::Bf16x2 => pair!(from_bf16),
        _ => None,
    }
}

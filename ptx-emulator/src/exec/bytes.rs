//! Conversions to and from floats of at most 8 bits, and those whose rounding random bits decide
//! (PTX ISA, "cvt").
//!
//! A result that lies beyond the largest number becomes that (`.satfinite`, which these conversions
//! must have). A NaN becomes the NaN of the format, or its largest number where it has none. The
//! formats are those of the OCP specifications of 8-bit floats and of microscaling formats.

use super::convert::truncate;
use super::float::{from_f64, to_f64};
use crate::ir::{RandomRounding, Rounding, SmallConversion, SmallFloat};
use ptx_syntax::ast::Type;

/// The largest finite bf16.
const LARGEST_BF16: f64 = f32::from_bits(0x7f7f_0000) as f64;

/// Random bits as a share of the last place: `bits` · 2^-`count`.
#[derive(Clone, Copy)]
struct Random {
    bits: u64,
    count: i32,
}

/// How the bits behind the last place are rounded.
#[derive(Clone, Copy)]
enum Tail {
    Nearest,
    Zero,
    Random(Random),
}

/// A format with subnormal numbers.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Bits of the exponent and of the fraction.
    exponent_bits: u32,
    pub(super) fraction_bits: i32,
    /// The largest finite number, and the NaN where there is one.
    pub(super) largest: u64,
    pub(super) nan: Option<u64>,
}

impl Format {
    pub(super) fn of(small: SmallFloat) -> Self {
        let (exponent_bits, fraction_bits, largest, nan) = match small {
            SmallFloat::E4m3 => (4, 3, 0x7e, Some(0x7f)),
            SmallFloat::E5m2 => (5, 2, 0x7b, Some(0x7f)),
            SmallFloat::E2m3 => (2, 3, 0x1f, None),
            SmallFloat::E3m2 => (3, 2, 0x1f, None),
            SmallFloat::E2m1 => (2, 1, 0x7, None),
            // It is narrowed and widened by itself.
            SmallFloat::Ue8m0 => (8, 0, 0xfe, Some(0xff)),
        };
        Format {
            exponent_bits,
            fraction_bits,
            largest,
            nan,
        }
    }

    pub(super) fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.exponent_bits as i32 + self.fraction_bits)
    }

    /// A number in the format, not beyond its largest; none for what lies beyond.
    fn narrow(self, value: f64, tail: Tail) -> Option<u64> {
        let magnitude = value.abs();
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let exponent = exponent.max(1 - self.bias());
        // In units of the last place: exact.
        let units = magnitude * f64::from(self.fraction_bits - exponent).exp2();
        let rounded = match tail {
            Tail::Nearest => units.round_ties_even(),
            Tail::Zero => units.trunc(),
            // Bits of the tail below the random ones never make the sum reach the next unit.
            Tail::Random(Random { bits, count }) => {
                let share = ((units - units.trunc()) * f64::from(count).exp2()).trunc();
                let carries = share + bits as f64 >= f64::from(count).exp2();
                units.trunc() + f64::from(u8::from(carries))
            }
        };
        // The implicit bit adds itself to the exponent field.
        let field = f64::from(exponent + self.bias() - 1);
        let bits = field * f64::from(self.fraction_bits).exp2() + rounded;
        (bits <= self.largest as f64).then_some(bits as u64)
    }
}

/// A small float of a value, clamped to finite numbers.
fn narrow(value: f64, small: SmallFloat, tail: Tail) -> u64 {
    let format = Format::of(small);
    if value.is_nan() {
        return format.nan.unwrap_or(format.largest);
    }
    let sign = match value.is_sign_negative() {
        true => format.sign(),
        false => 0,
    };
    sign | format.narrow(value, tail).unwrap_or(format.largest)
}

/// A power of two: the exponent of the magnitude, or one more where `up` and the number lies above
/// it. Signs are dropped.
fn narrow_exponent(value: f64, up: bool, finite: bool) -> u64 {
    const NAN: u64 = 0xff;
    if value.is_nan() {
        return NAN;
    }
    let least = (-127f64).exp2();
    let magnitude = value.abs().max(least);
    let largest = if finite { NAN - 1 } else { NAN };
    if magnitude.is_infinite() {
        return largest;
    }
    let exponent = (magnitude.to_bits() >> 52) as i64 - 1023;
    let is_power = magnitude.to_bits() & ((1 << 52) - 1) == 0;
    let field = exponent + 127 + i64::from(up && !is_power);
    (field as u64).min(largest)
}

/// A small float as f64.
pub(super) fn widen(bits: u64, small: SmallFloat) -> f64 {
    if small == SmallFloat::Ue8m0 {
        return match bits {
            0xff => f64::NAN,
            bits => (bits as f64 - 127.0).exp2(),
        };
    }
    // The upper half of an f16.
    if small == SmallFloat::E5m2 {
        return to_f64(bits << 8, Type::F16);
    }
    let format = Format::of(small);
    let magnitude = bits & (format.sign() - 1);
    let sign = match bits & format.sign() {
        0 => 1.0,
        _ => -1.0,
    };
    if format.nan == Some(magnitude) {
        return f64::NAN;
    }
    let fraction = (magnitude & ((1 << format.fraction_bits) - 1)) as f64;
    let field = (magnitude >> format.fraction_bits) as i32;
    let implicit = match field {
        0 => 0.0,
        _ => f64::from(format.fraction_bits).exp2(),
    };
    let exponent = field.max(1) - format.bias() - format.fraction_bits;
    sign * (implicit + fraction) * f64::from(exponent).exp2()
}

/// Bits of an element of a packed operand.
pub(super) fn width(small: SmallFloat) -> u32 {
    match small {
        SmallFloat::E2m1 => 4,
        _ => 8,
    }
}

pub(super) fn convert(conversion: SmallConversion, x: [u64; 4]) -> u64 {
    let SmallConversion {
        small,
        other,
        narrows,
        relu,
        finite,
        rounding,
    } = conversion;
    let half = match other {
        Type::Bf16x2 => Type::Bf16,
        _ => Type::F16,
    };
    let width = width(small);
    // Of two f32, the first goes into the upper place.
    let value = |at: u32| -> f64 {
        let value = match (narrows, other) {
            (true, Type::F32) => to_f64(x[1 - at as usize], Type::F32),
            (true, _) => to_f64(truncate(x[0] >> (16 * at), 16), half),
            (false, _) => widen(truncate(x[0] >> (width * at), width), small),
        };
        if relu && value <= 0.0 { 0.0 } else { value }
    };
    let tail = match rounding {
        Some(Rounding::Zero) => Tail::Zero,
        Some(_) => Tail::Nearest,
        None => Tail::Random(Random {
            bits: truncate(x[2], 16),
            count: 16,
        }),
    };
    let element = |at: u32| match (narrows, small) {
        (true, SmallFloat::Ue8m0) => {
            let up = rounding == Some(Rounding::Up);
            narrow_exponent(value(at), up, finite) << (8 * at)
        }
        (true, _) => narrow(value(at), small, tail) << (width * at),
        (false, _) => {
            let value = value(at);
            // Infinities of `e5m2`; all other numbers are far from the largest of bf16.
            let value = match finite && value.is_infinite() {
                true => LARGEST_BF16.copysign(value),
                false => value,
            };
            from_f64(value, 0.0, half, Rounding::NearestEven) << (16 * at)
        }
    };
    element(0) | element(1)
}

/// `cvt.rs` of two f32: the tail of each and its random bits are added, and the carry counts.
pub(super) fn round_randomly(rounding: RandomRounding, x: [u64; 4]) -> u64 {
    let RandomRounding { half, relu, finite } = rounding;
    let (format, random_bits, infinity) = match half {
        Type::F16 => ((5, 10, 0x7bff), 13, 0x7c00),
        _ => ((8, 7, 0x7f7f), 16, 0x7f80),
    };
    let format = Format {
        exponent_bits: format.0,
        fraction_bits: format.1,
        largest: format.2,
        nan: Some(0x7fff),
    };
    let element = |value: u64, random: u64| {
        let value = to_f64(value, Type::F32);
        if value.is_nan() {
            return 0x7fff;
        }
        if relu && value <= 0.0 {
            return 0;
        }
        let sign = match value.is_sign_negative() {
            true => format.sign(),
            false => 0,
        };
        let tail = Tail::Random(Random {
            bits: truncate(random, random_bits),
            count: random_bits as i32,
        });
        let beyond = if finite { format.largest } else { infinity };
        sign | format
            .narrow(value, tail)
            .unwrap_or(match value.is_infinite() {
                true if !finite => infinity,
                _ => beyond,
            })
    };
    element(x[0], x[2] >> 16) << 16 | element(x[1], x[2])
}

/// The halves of a word as signed numbers would hide that a carry is lost.
#[cfg(test)]
mod tests {
    use super::*;

    /// Every pattern of each format is the nearest one to its own value, and to what lies less
    /// than half a place beside it.
    #[test]
    fn formats_are_read_back() {
        let formats = [
            SmallFloat::E4m3,
            SmallFloat::E5m2,
            SmallFloat::E2m3,
            SmallFloat::E3m2,
            SmallFloat::E2m1,
        ];
        for small in formats {
            let format = Format::of(small);
            let mut before = -1.0;
            for bits in 0..=format.largest {
                let value = widen(bits, small);
                assert!(value > before, "{small:?} {bits:#x}");
                assert_eq!(narrow(value, small, Tail::Nearest), bits, "{small:?}");
                let negative = narrow(-value, small, Tail::Nearest);
                assert_eq!(negative, bits | format.sign(), "{small:?}");
                if bits > 0 {
                    // Half-way, the even pattern wins.
                    let even = if bits & 1 == 0 { bits } else { bits - 1 };
                    let middle = (value + before) / 2.0;
                    assert_eq!(narrow(middle, small, Tail::Nearest), even, "{small:?}");
                    assert_eq!(narrow(middle, small, Tail::Zero), bits - 1, "{small:?}");
                }
                before = value;
            }
            let beyond = narrow(f64::INFINITY, small, Tail::Nearest);
            assert_eq!(beyond, format.largest);
        }
        // The largest numbers of the formats' specifications.
        let largest = |small| widen(Format::of(small).largest, small);
        assert_eq!(formats.map(largest), [448.0, 57344.0, 7.5, 28.0, 6.0]);
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(narrow_exponent(1.0, true, true), 127);
        assert_eq!(narrow_exponent(-1.5, true, true), 128);
        assert_eq!(narrow_exponent(1.5, false, true), 127);
        assert_eq!(narrow_exponent(0.0, true, true), 0);
        assert_eq!(narrow_exponent(f64::INFINITY, true, true), 0xfe);
        assert_eq!(narrow_exponent(f64::INFINITY, true, false), 0xff);
        assert_eq!(narrow_exponent(f64::NAN, true, true), 0xff);
        assert_eq!(narrow_exponent(f64::from(f32::MAX), true, true), 0xfe);
        assert_eq!(narrow_exponent(f64::from(f32::MAX), true, false), 0xff);
        assert_eq!(widen(0, SmallFloat::Ue8m0), (-127f64).exp2());
    }

    /// Of all random bits, as many round up as the tail has of a place.
    #[test]
    fn random_bits_decide() {
        let bf16 = RandomRounding {
            half: Type::Bf16,
            relu: false,
            finite: false,
        };
        for (value, ups) in [
            (0x3f80_0000u64, 0u64),
            (0x3f80_4000, 0x4000),
            (0x0000_c000, 0xc000),
        ] {
            let up = |random: u64| {
                round_randomly(bf16, [value, 0, random << 16, 0]) >> 16 == (value >> 16) + 1
            };
            assert_eq!(
                (0..0x1_0000).filter(|random| up(*random)).count() as u64,
                ups
            );
        }
        let f16 = RandomRounding {
            half: Type::F16,
            ..bf16
        };
        // A quarter of the last place of f16 beyond 1.
        let quarter = u64::from((1f32 + 2f32.powi(-12)).to_bits());
        let up = |random: u64| round_randomly(f16, [0, quarter, random, 0]) == 0x3c01;
        assert_eq!((0..0x2000).filter(|random| up(*random)).count(), 0x800);
        assert_eq!(round_randomly(f16, [0xff80_0000, 0, 0, 0]), 0xfc00_0000);
    }
}

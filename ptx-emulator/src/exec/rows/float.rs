//! f32.

use super::super::approximate as series;
use super::super::float::{NAN32, bits32, max32, min32};
use super::super::vector::{LANES, Lanes32};
use super::Operands;
use crate::ir::{FloatFormat, FloatFunction, Rounding};

#[inline(always)]
pub(super) fn flush(bits: u32) -> u32 {
    match bits & 0x7f80_0000 {
        0 => bits & 0x8000_0000,
        _ => bits,
    }
}

#[inline(always)]
pub(super) fn from_flushed(bits: u32) -> f32 {
    f32::from_bits(flush(bits))
}

/// How an operation reads its operands and finishes its result.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    flushes: bool,
    saturates: bool,
}

pub(super) const PLAIN: Numbers = Numbers {
    flushes: false,
    saturates: false,
};

/// `.ftz`
pub(super) const FLUSHED: Numbers = Numbers {
    flushes: true,
    saturates: false,
};

impl Numbers {
    #[inline(always)]
    pub(super) fn of(format: FloatFormat) -> Self {
        Numbers {
            flushes: format.flush,
            saturates: format.saturate,
        }
    }

    #[inline(always)]
    fn read(self, bits: u32) -> u32 {
        if self.flushes { flush(bits) } else { bits }
    }

    #[inline(always)]
    fn single(self, bits: u32) -> f32 {
        f32::from_bits(self.read(bits))
    }

    #[inline(always)]
    fn double(self, bits: u32) -> f64 {
        f64::from(self.single(bits))
    }

    #[inline(always)]
    fn finish(self, bits: u32) -> u32 {
        let bits = self.read(bits);
        match self.saturates {
            false => bits,
            true if f32::from_bits(bits) > 0.0 => bits.min(1f32.to_bits()),
            true => 0,
        }
    }

    #[inline(always)]
    fn result(self, value: f32) -> u32 {
        self.finish(bits32(value))
    }

    #[inline(always)]
    fn rounded(self, value: f64) -> u32 {
        self.result(value as f32)
    }
}

/// `min.NaN` and `max.NaN`.
#[inline(always)]
pub(super) fn extremes(
    function: FloatFunction,
    f: Numbers,
    [a, b, _]: Operands<'_>,
) -> Option<Lanes32> {
    let unless_nan = |x: u32, y: u32, extreme: u32| {
        let is_nan = f32::from_bits(x).is_nan() | f32::from_bits(y).is_nan();
        f.finish(if is_nan { NAN32 } else { extreme })
    };
    match function {
        FloatFunction::Min => row!(|i| {
            let (x, y) = (f.read(a[i]), f.read(b[i]));
            unless_nan(x, y, min32(x, y))
        }),
        FloatFunction::Max => row!(|i| {
            let (x, y) = (f.read(a[i]), f.read(b[i]));
            unless_nan(x, y, max32(x, y))
        }),
        _ => None,
    }
}

/// A sum or a product in a directed rounding.
#[inline(always)]
pub(super) fn directed(
    function: FloatFunction,
    rounding: Rounding,
    f: Numbers,
    [a, b, c]: Operands<'_>,
) -> Option<Lanes32> {
    macro_rules! sums {
        (|$i:ident| $terms:expr) => {
            match rounding {
                Rounding::Down => row!(|$i| f.result(sum_down($terms))),
                // The mirror image.
                Rounding::Up => row!(|$i| {
                    let (x, y): (f64, f64) = $terms;
                    f.result(-sum_down((-x, -y)))
                }),
                Rounding::Zero => row!(|$i| f.result(sum_to_zero($terms))),
                Rounding::NearestEven | Rounding::NearestAway => None,
            }
        };
    }
    match function {
        FloatFunction::Add => sums!(|i| (f.double(a[i]), f.double(b[i]))),
        FloatFunction::Sub => sums!(|i| (f.double(a[i]), -f.double(b[i]))),
        FloatFunction::Mul => {
            // Nothing is added: a zero keeps the sign of the product.
            let product = |i: usize| f.double(a[i]) * f.double(b[i]);
            match rounding {
                Rounding::Down => row!(|i| f.result(down(product(i), 0.0))),
                Rounding::Up => row!(|i| f.result(-down(-product(i), 0.0))),
                Rounding::Zero => row!(|i| f.result(to_zero(product(i), 0.0))),
                Rounding::NearestEven | Rounding::NearestAway => None,
            }
        }
        FloatFunction::Fma => sums!(|i| (f.double(a[i]) * f.double(b[i]), f.double(c[i]))),
        _ => None,
    }
}

/// The nearest f64 of a sum, and what that lacks (Knuth's two-sum).
#[inline(always)]
fn two_sum((x, y): (f64, f64)) -> (f64, f64) {
    let sum = x + y;
    let of_y = sum - x;
    (sum, (x - (sum - of_y)) + (y - of_y))
}

/// The largest f32 that is not above the sum of two doubles.
#[inline(always)]
fn sum_down(terms: (f64, f64)) -> f32 {
    let (sum, rest) = two_sum(terms);
    // Rounding down, a sum of zero is negative unless both addends are +0.
    let signs = terms.0.to_bits() | terms.1.to_bits();
    let zero = if signs >> 63 == 0 { 0.0 } else { -0.0 };
    let value = down(sum, rest);
    if sum == 0.0 { zero } else { value }
}

#[inline(always)]
fn sum_to_zero(terms: (f64, f64)) -> f32 {
    let (sum, rest) = two_sum(terms);
    to_zero(sum, rest)
}

/// How far the value lies from the nearest f32: its sign counts. `rest` lies below the last bit of
/// the value.
#[inline(always)]
fn off(value: f64, rest: f64, near: f32) -> f64 {
    let off = value - f64::from(near);
    if off == 0.0 { rest } else { off }
}

#[inline(always)]
fn down(value: f64, rest: f64) -> f32 {
    let near = value as f32;
    let bits = near.to_bits();
    // The next one below: that of +0 is the first negative one.
    let below = if bits >> 31 == 0 {
        bits.wrapping_sub(1)
    } else {
        bits.wrapping_add(1)
    };
    let below = if bits == 0 { 0x8000_0001 } else { below };
    let is_above = off(value, rest, near) < 0.0;
    f32::from_bits(if is_above { below } else { bits })
}

#[inline(always)]
fn to_zero(value: f64, rest: f64) -> f32 {
    let near = value as f32;
    let bits = near.to_bits();
    let off = off(value, rest, near);
    let is_beyond = ((near > 0.0) & (off < 0.0)) | ((near < 0.0) & (off > 0.0));
    f32::from_bits(bits.wrapping_sub(u32::from(is_beyond)))
}

const SIGN: u32 = 1 << 31;

/// `result`, or the one NaN where the operand is any.
#[inline(always)]
fn unless_nan(operand: u32, result: u32) -> u32 {
    match f32::from_bits(operand).is_nan() {
        true => NAN32,
        false => result,
    }
}

#[inline(always)]
pub(super) fn single(
    function: FloatFunction,
    f: Numbers,
    [a, b, c]: Operands<'_>,
) -> Option<Lanes32> {
    match function {
        FloatFunction::Add => row!(|i| f.result(f.single(a[i]) + f.single(b[i]))),
        FloatFunction::Sub => row!(|i| f.result(f.single(a[i]) - f.single(b[i]))),
        FloatFunction::Mul => row!(|i| f.result(f.single(a[i]) * f.single(b[i]))),
        FloatFunction::Fma => row!(|i| {
            let sum = f.single(a[i]).mul_add(f.single(b[i]), f.single(c[i]));
            f.result(sum)
        }),
        FloatFunction::Min => row!(|i| f.finish(min32(f.read(a[i]), f.read(b[i])))),
        FloatFunction::Max => row!(|i| f.finish(max32(f.read(a[i]), f.read(b[i])))),
        FloatFunction::Abs => row!(|i| f.finish(unless_nan(a[i], f.read(a[i]) & !SIGN))),
        FloatFunction::Neg => row!(|i| f.finish(unless_nan(a[i], f.read(a[i]) ^ SIGN))),
        FloatFunction::Div => row!(|i| f.result(f.single(a[i]) / f.single(b[i]))),
        FloatFunction::CopySign if !f.flushes && !f.saturates => {
            row!(|i| a[i] & SIGN | b[i] & !SIGN)
        }
        FloatFunction::DivApprox => row!(|i| {
            let (a, b) = (f.single(a[i]), f.single(b[i]));
            // The approximation does not reach divisors beyond 2^126.
            let lost = match a.is_infinite() {
                true => f32::NAN,
                false => (a * 0.0).copysign(a) * b.signum(),
            };
            let is_far = b.is_finite() & (b.abs() > f32::from_bits(0x7e80_0000));
            f.result(if is_far { lost } else { a / b })
        }),
        FloatFunction::Rcp | FloatFunction::RcpApprox => {
            row!(|i| f.result(1.0 / f.single(a[i])))
        }
        FloatFunction::Sqrt | FloatFunction::SqrtApprox => {
            row!(|i| f.result(f.single(a[i]).sqrt()))
        }
        FloatFunction::RsqrtApprox => row!(|i| f.rounded(1.0 / f.double(a[i]).sqrt())),
        FloatFunction::Exp2 => row!(|i| f.rounded(series::exp2(f.double(a[i])))),
        FloatFunction::Log2 => row!(|i| f.rounded(series::log2(f.double(a[i])))),
        FloatFunction::Tanh => row!(|i| f.rounded(series::tanh(f.double(a[i])))),
        FloatFunction::Sin if series::are_small_angles(a) => {
            row!(|i| f.rounded(series::small_sin(f.double(a[i]))))
        }
        FloatFunction::Cos if series::are_small_angles(a) => {
            row!(|i| f.rounded(series::small_cos(f.double(a[i]))))
        }
        _ => None,
    }
}

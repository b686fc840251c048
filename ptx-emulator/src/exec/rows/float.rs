//! f32.

use super::super::approximate as series;
use super::super::float::{bits32, max32, min32};
use super::super::vector::{LANES, Lanes32};
use super::Operands;
use crate::ir::{FloatFormat, FloatFunction, Rounding};

#[inline(always)]
fn flush(bits: u32) -> u32 {
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
struct Numbers {
    flushes: bool,
    saturates: bool,
}

impl Numbers {
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

/// f32 rounded to nearest.
#[inline(always)]
pub(super) fn float(
    function: FloatFunction,
    format: FloatFormat,
    x: Operands<'_>,
) -> Option<Lanes32> {
    let FloatFormat {
        rounding,
        flush: flushes,
        saturate: saturates,
        relu,
        nan_wins,
        xor_sign,
        ..
    } = format;
    if rounding != Rounding::NearestEven || relu || nan_wins || xor_sign {
        return None;
    }
    // The most frequent ones without a question in each lane.
    let of = |flushes| Numbers {
        flushes,
        saturates: false,
    };
    match (flushes, saturates) {
        (true, false) => single(function, of(true), x),
        (false, false) => single(function, of(false), x),
        _ => {
            let numbers = Numbers { flushes, saturates };
            single(function, numbers, x)
        }
    }
}

#[inline(always)]
fn single(function: FloatFunction, f: Numbers, [a, b, c]: Operands<'_>) -> Option<Lanes32> {
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
        FloatFunction::Div => row!(|i| f.result(f.single(a[i]) / f.single(b[i]))),
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

//! How far functions of `f32` are from the exact values, measured on the host.
//!
//! The functions of `cuda_std` have the same bits on a host and on a device, but for those of
//! `fast`, so what is measured here holds there. What is exact is `std`'s function of `f64`, whose
//! error is some 2^-29 of an ulp of `f32`.

extern crate std;

use cuda_std::float::single;
use cuda_std::{FloatExt, GpuFloat};
use std::f64::consts::PI;

/// A function of one `f32`.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name in `cuda_std`.
    pub name: &'static str,
    /// The kernel of the device tests that computes it, where it is made of instructions alone.
    pub entry: Option<&'static str>,
    /// What is measured.
    pub single: fn(f32) -> f32,
    /// What it should be.
    pub exact: fn(f64) -> f64,
    /// The largest error in ulp that the CUDA C++ Programming Guide has for its own ("Mathematical
    /// Functions Appendix", table of single-precision functions; its edition for CUDA 11).
    pub cuda: f64,
}

macro_rules! functions {
    ($($name:literal, $entry:expr, $single:expr, $exact:expr, $cuda:literal;)*) => {
        [$(Function { name: $name, entry: $entry, single: $single, exact: $exact, cuda: $cuda }),*]
    };
}

/// The functions of one argument.
pub const FUNCTIONS: [Function; 24] = functions! {
    "exp", Some("float_exp"), single::exp, f64::exp, 2.0;
    "exp2", Some("float_exp2"), single::exp2, f64::exp2, 2.0;
    "exp10", Some("float_exp10"), single::exp10, |x| 10_f64.powf(x), 2.0;
    "ln", Some("float_ln"), single::ln, f64::ln, 1.0;
    "log2", Some("float_log2"), single::log2, f64::log2, 1.0;
    "log10", Some("float_log10"), single::log10, f64::log10, 2.0;
    "sin", Some("float_sin"), single::sin, f64::sin, 2.0;
    "cos", Some("float_cos"), single::cos, f64::cos, 2.0;
    "tan", Some("float_tan"), single::tan, f64::tan, 4.0;
    "sinpi", Some("float_sinpi"), single::sinpi, sinpi, 2.0;
    "cospi", Some("float_cospi"), single::cospi, cospi, 2.0;
    "sinh", Some("float_sinh"), single::sinh, f64::sinh, 3.0;
    "cosh", Some("float_cosh"), single::cosh, f64::cosh, 2.0;
    "tanh", Some("float_tanh"), single::tanh, f64::tanh, 2.0;
    "asin", None, |x| GpuFloat::asin(x), f64::asin, 4.0;
    "acos", None, |x| GpuFloat::acos(x), f64::acos, 3.0;
    "atan", None, |x| GpuFloat::atan(x), f64::atan, 2.0;
    "asinh", None, |x| GpuFloat::asinh(x), asinh, 3.0;
    "acosh", None, |x| GpuFloat::acosh(x), acosh, 4.0;
    "atanh", None, |x| GpuFloat::atanh(x), atanh, 3.0;
    "exp_m1", None, |x| GpuFloat::exp_m1(x), f64::exp_m1, 1.0;
    "ln_1p", None, |x| GpuFloat::ln_1p(x), f64::ln_1p, 1.0;
    "cbrt", None, |x| GpuFloat::cbrt(x), f64::cbrt, 1.0;
    "rcbrt", None, |x| FloatExt::rcbrt(x), |x| 1.0 / x.cbrt(), 1.0;
};

/// What CUDA has for `powf`, the function of two arguments that is measured.
pub const CUDA_POWF: f64 = 8.0;

fn sinpi(x: f64) -> f64 {
    // To a quarter of a turn at most, exactly; the function is odd around whole numbers.
    let rest = x - 2.0 * (0.5 * x).round();
    let near = match rest {
        rest if rest > 0.5 => 1.0 - rest,
        rest if rest < -0.5 => -1.0 - rest,
        rest => rest,
    };
    (near * PI).sin()
}

fn cospi(x: f64) -> f64 {
    let rest = x - 2.0 * (0.5 * x).round();
    sinpi(0.5 - rest.abs())
}

// Those of `std` lose digits near 0 and for large numbers.
fn asinh(x: f64) -> f64 {
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    (magnitude + square / (1.0 + (square + 1.0).sqrt()))
        .ln_1p()
        .copysign(x)
}

fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    let above = x - 1.0;
    (above + (above * (above + 2.0)).sqrt()).ln_1p()
}

fn atanh(x: f64) -> f64 {
    0.5 * (2.0 * x / (1.0 - x)).ln_1p()
}

/// The distance of `found` to `exact` in units in the last place of the exact value as an `f32`:
/// infinite where only one of both is NaN, or infinite.
pub fn error_in_ulp(found: f32, exact: f64) -> f64 {
    if exact.is_nan() || found.is_nan() {
        let both = exact.is_nan() && found.is_nan();
        return if both { 0.0 } else { f64::INFINITY };
    }
    if f64::from(found) == exact {
        return 0.0;
    }
    // The largest number and half an ulp, from where on the nearest float is infinite.
    let limit = f64::from(f32::MAX) + 2_f64.powi(103);
    let exact = exact.clamp(-limit, limit);
    // An infinite result counts as what would follow the largest number.
    let found = match found {
        found if found.is_infinite() => 2_f64.powi(128).copysign(found.into()),
        found => f64::from(found),
    };
    let exponent = match exact {
        0.0 => -149,
        exact => ((exact.abs().to_bits() >> 52) as i32 - 1023 - 23).max(-149),
    };
    (found - exact).abs() / 2_f64.powi(exponent)
}

/// The largest error of `function` among every `step`th float from the bits `start` on, below the
/// bits `end`, and a number where it has it.
pub fn largest_error(function: &Function, start: u64, end: u64, step: u64) -> (f64, f32) {
    let mut largest = (0.0, 0.0);
    let mut bits = start;
    while bits < end {
        let x = f32::from_bits(bits as u32);
        if !x.is_nan() {
            let error = error_in_ulp((function.single)(x), (function.exact)(f64::from(x)));
            if error > largest.0 {
                largest = (error, x);
            }
        }
        bits += step;
    }
    largest
}

/// The largest error of `powf` among `count` pairs of numbers, by a fixed sequence: any two floats,
/// and exponents that keep the result finite.
pub fn largest_error_of_powf(count: u64) -> (f64, (f32, f32)) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut largest = (0.0, (0.0, 0.0));
    for i in 0..count {
        let any = f32::from_bits(random() as u32);
        let pair = if i % 2 == 0 {
            (any, f32::from_bits(random() as u32))
        } else {
            let x = any.abs();
            let log = f64::from(x).log2().abs().max(1e-7);
            let share = (random() % 2_000_001) as f64 / 1e6 - 1.0;
            (x, (128.0 * share / log) as f32)
        };
        if pair.0.is_nan() || pair.1.is_nan() {
            continue;
        }
        let exact = f64::from(pair.0).powf(pair.1.into());
        let error = error_in_ulp(single::powf(pair.0, pair.1), exact);
        if error > largest.0 {
            largest = (error, pair);
        }
    }
    largest
}

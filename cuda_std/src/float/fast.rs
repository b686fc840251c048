//! Short forms of functions of `f32`: one or a few instructions, with a larger error.
//!
//! They are what CUDA's `__sinf`, `__expf` and others are: instructions with `.approx` (PTX ISA,
//! "Floating Point Instructions"), whose results differ among GPUs and on the emulator in the last
//! bits. docs/float-accuracy.md has the errors that NVIDIA documents for them.

use crate::instruction::instructions;
use core::f32::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

instructions! {
    /// The sine (`sin.approx`): absolute error 2^-20.5 up to 2π, more for larger angles.
    sin(x: f32 = reg32) -> f32 = reg32, "sin.approx.f32", host f32::sin;
    /// The cosine (`cos.approx`): absolute error 2^-20.5 up to 2π, more for larger angles.
    cos(x: f32 = reg32) -> f32 = reg32, "cos.approx.f32", host f32::cos;
    /// 2 to the power of `x` (`ex2.approx`): relative error 2^-22.
    exp2(x: f32 = reg32) -> f32 = reg32, "ex2.approx.f32", host f32::exp2;
    /// The same without subnormal numbers, which are 0 (`ex2.approx.ftz`): one instruction of the
    /// machine in place of three.
    exp2_ftz(x: f32 = reg32) -> f32 = reg32, "ex2.approx.ftz.f32", host |x: f32| {
        let result = x.exp2();
        if result.is_subnormal() { 0.0 } else { result }
    };
    /// The logarithm of base 2 (`lg2.approx`): error 2^-22, absolute where the result is near 0.
    log2(x: f32 = reg32) -> f32 = reg32, "lg2.approx.f32", host f32::log2;
    /// The hyperbolic tangent (`tanh.approx`): relative error 2^-11. Needs compute capability 7.5.
    tanh(x: f32 = reg32) -> f32 = reg32, "tanh.approx.f32", host f32::tanh;
    /// 1 divided by the square root (`rsqrt.approx`): relative error 2^-22.9.
    rsqrt(x: f32 = reg32) -> f32 = reg32, "rsqrt.approx.f32", host |x: f32| 1.0 / x.sqrt();
    /// The square root (`sqrt.approx`): relative error 2^-23.
    sqrt(x: f32 = reg32) -> f32 = reg32, "sqrt.approx.f32", host f32::sqrt;
    /// 1 divided by `x` (`rcp.approx`): error of 1 ulp.
    recip(x: f32 = reg32) -> f32 = reg32, "rcp.approx.f32", host f32::recip;
    /// The same without subnormal numbers, which are 0 (`rcp.approx.ftz`): one instruction of the
    /// machine, without a case apart for them.
    recip_ftz(x: f32 = reg32) -> f32 = reg32, "rcp.approx.ftz.f32", host |x: f32| {
        let flushed = |x: f32| if x.is_subnormal() { x * 0.0 } else { x };
        flushed(flushed(x).recip())
    };
    /// `x / y` (`div.approx`): error of 2 ulp for `y` from 2^-126 to 2^126.
    div(x: f32 = reg32, y: f32 = reg32) -> f32 = reg32, "div.approx.f32", host |x, y| x / y;
}

/// e to the power of `x`.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * LOG2_E)
}

/// 10 to the power of `x`.
#[inline(always)]
pub fn exp10(x: f32) -> f32 {
    exp2(x * LOG2_10)
}

/// The natural logarithm.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    log2(x) * LN_2
}

/// The logarithm of base 10.
#[inline(always)]
pub fn log10(x: f32) -> f32 {
    log2(x) * LOG10_2
}

/// The tangent: a quotient of [`sin`] and [`cos`].
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    div(sin(x), cos(x))
}

/// The sine and the cosine.
#[inline(always)]
pub fn sin_cos(x: f32) -> (f32, f32) {
    (sin(x), cos(x))
}

/// `x` to the power of `y`: `2^(y log2 x)`.
#[inline(always)]
pub fn powf(x: f32, y: f32) -> f32 {
    exp2(y * log2(x))
}

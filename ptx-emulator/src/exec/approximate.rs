//! Functions that PTX approximates, in double precision: series without branches, so that the
//! compiler evaluates several lanes at once. Their relative errors lie below 2^-45, far below the
//! last bit of an f32.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E};

/// Beyond this the reduction of angles loses bits.
const MAX_ANGLE: f64 = 1e6;

/// The nearest integer of numbers below 2^51, without a call.
#[inline(always)]
fn nearest(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (x + SHIFT) - SHIFT
}

#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = 0.0;
    for coefficient in coefficients.into_iter().rev() {
        sum = sum * x + coefficient;
    }
    sum
}

/// 1/(first)!, 1/(first + 2)! and so on.
const fn factorials<const N: usize>(first: usize) -> [f64; N] {
    let mut terms = [0.0; N];
    let (mut factorial, mut number, mut at) = (1.0, 0, 0);
    while at < N {
        while number < first + 2 * at {
            number += 1;
            factorial *= number as f64;
        }
        terms[at] = 1.0 / factorial;
        at += 1;
    }
    terms
}

/// e^x - 1 for |x| up to 0.35: Taylor's series, its odd and its even terms apart. The compiler
/// unrolls short loops only.
#[inline(always)]
fn expm1(x: f64) -> f64 {
    const ODD: [f64; 7] = factorials(1);
    const EVEN: [f64; 6] = factorials(2);
    let square = x * x;
    x * polynomial(square, ODD) + square * polynomial(square, EVEN)
}

/// 2^n for whole n from -1022 to 1023.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    // The low bits of the sum are those of the exponent.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let bits = (n + 1023.0 + SHIFT).to_bits();
    f64::from_bits(bits << 52)
}

/// 2^x; of f32 and narrower operands.
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let bounded = x.clamp(-400.0, 400.0);
    let whole = nearest(bounded);
    let value = (1.0 + expm1((bounded - whole) * LN_2)) * power_of_two(whole);
    let value = if x == f64::NEG_INFINITY { 0.0 } else { value };
    let value = if x == f64::INFINITY { x } else { value };
    if x.is_nan() { x } else { value }
}

/// The terms 2/(2k + 1) of the series of the logarithm, from k on.
const fn reciprocals<const N: usize>(from: usize) -> [f64; N] {
    let mut terms = [0.0; N];
    let mut at = 0;
    while at < N {
        terms[at] = 2.0 / (2 * (from + at) + 1) as f64;
        at += 1;
    }
    terms
}

/// The logarithm to the base 2.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    const LOW: [f64; 6] = reciprocals(0);
    const HIGH: [f64; 6] = reciprocals(6);
    let bits = x.to_bits();
    let fraction = f64::from_bits(bits & FRACTION | 1f64.to_bits());
    // From 2^-0.5 to 2^0.5.
    let is_large = fraction > std::f64::consts::SQRT_2;
    let fraction = if is_large { 0.5 * fraction } else { fraction };
    let exponent = (bits >> 52) as i32 - 1023 + i32::from(is_large);
    let s = (fraction - 1.0) / (fraction + 1.0);
    let square = s * s;
    let cube = square * square * square;
    let series = polynomial(square, LOW) + cube * cube * polynomial(square, HIGH);
    let value = f64::from(exponent) + s * series * LOG2_E;
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    let value = if x < 0.0 { f64::NAN } else { value };
    // Infinity, and NaN.
    if x < f64::INFINITY { value } else { x }
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let magnitude = x.abs().min(30.0);
    let small = expm1((2.0 * magnitude).min(0.3));
    let large = exp2(2.0 * magnitude * LOG2_E) - 1.0;
    let grown = if magnitude < 0.15 { small } else { large };
    let value = (grown / (grown + 2.0)).copysign(x);
    if x.is_nan() { x } else { value }
}

/// The sine of x plus a number of right angles, for |x| up to [`MAX_ANGLE`].
#[inline(always)]
fn sine(x: f64, right_angles: i64) -> f64 {
    const SINE: [f64; 9] = alternating::<9>(1);
    const COSINE: [f64; 9] = alternating::<9>(0);
    /// What π/2 has beyond its nearest f64.
    const REST: f64 = 6.123_233_995_736_766e-17;
    let turns = nearest(x * (1.0 / FRAC_PI_2));
    // The product is not exact: the rest of the angle is taken in parts of few bits.
    const HIGH: f64 = f64::from_bits(FRAC_PI_2.to_bits() & !0x7ff_ffff);
    const LOW: f64 = FRAC_PI_2 - HIGH;
    let angle = ((x - turns * HIGH) - turns * LOW) - turns * REST;
    let square = angle * angle;
    let quadrant = turns as i64 + right_angles;
    let value = match quadrant & 1 == 0 {
        true => angle * polynomial(square, SINE),
        false => polynomial(square, COSINE),
    };
    if quadrant & 2 == 0 { value } else { -value }
}

/// The terms ±1/(2k+first)! of the series of sine and cosine.
const fn alternating<const N: usize>(first: usize) -> [f64; N] {
    let mut terms = [0.0; N];
    let mut term = 1.0;
    let mut at = 0;
    while at < N {
        terms[at] = term;
        let next = (2 * at + first + 1) as f64 * (2 * at + first + 2) as f64;
        term = -term / next;
        at += 1;
    }
    terms
}

/// Whether [`sin`] and [`cos`] of all of these are evaluated by series.
#[inline(always)]
pub(super) fn are_small_angles(row: &[u32; 32]) -> bool {
    let limit = (MAX_ANGLE as f32).to_bits();
    row.iter()
        .fold(true, |small, bits| small & (bits & 0x7fff_ffff <= limit))
}

#[inline(always)]
pub(super) fn small_sin(x: f64) -> f64 {
    let value = sine(x, 0);
    if x == 0.0 { x } else { value }
}

#[inline(always)]
pub(super) fn small_cos(x: f64) -> f64 {
    sine(x, 1)
}

pub(super) fn sin(x: f64) -> f64 {
    match x.abs() <= MAX_ANGLE {
        true => small_sin(x),
        false => x.sin(),
    }
}

pub(super) fn cos(x: f64) -> f64 {
    match x.abs() <= MAX_ANGLE {
        true => small_cos(x),
        false => x.cos(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_the_host_far_below_the_last_bit() {
        let close = |found: f64, wanted: f64, x: f32, name: &str| {
            let same = found == wanted || found.is_nan() && wanted.is_nan();
            let error = ((found - wanted) / wanted).abs();
            assert!(
                same || error < 3e-14,
                "{name} {x:e}: {found:e}, not {wanted:e}"
            );
        };
        // Every exponent of f32, some thousand fractions.
        for bits in (0..u32::MAX).step_by(65_537) {
            let x = f32::from_bits(bits);
            let wide = f64::from(x);
            if wide.abs() < 400.0 || !wide.is_finite() {
                close(exp2(wide), wide.exp2(), x, "2^");
            }
            if wide > 0.0 && (wide - 1.0).abs() > 1e-6 || !wide.is_finite() {
                close(log2(wide), wide.log2(), x, "log2");
            }
            close(tanh(wide), wide.tanh(), x, "tanh");
            let (sine, cosine) = wide.sin_cos();
            // Near a zero of the function the error of the angle counts.
            if sine.abs() > 1e-6 || wide.abs() < 1.0 {
                close(sin(wide), sine, x, "sin");
            }
            if cosine.abs() > 1e-6 {
                close(cos(wide), cosine, x, "cos");
            }
        }
    }
}

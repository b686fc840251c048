//! Functions of `f32`, made of additions, multiplications, FMA and integer operations alone.
//!
//! None of them uses an instruction whose result the PTX ISA leaves open (`.approx`), nor memory,
//! except sines of numbers above 100 000. So a result has the same bits on every GPU, on the
//! emulator and on a host, and the errors in docs/float-accuracy.md, measured on a host, hold on a
//! GPU. [`fast`](super::fast) has the short forms.
//!
//! Polynomials are fitted at Chebyshev nodes and rounded to `f32`.

use super::GpuFloat;
use core::f32::consts::{LN_2, LN_10, LOG2_10, LOG2_E};

/// 1.5 · 2^23: added to a number below 2^22, it leaves the nearest integer in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// ln 2 less [`LN_2`].
const LN_2_LOW: f32 = -1.904_654_2e-9;
/// log2 e less [`LOG2_E`].
const LOG2_E_LOW: f32 = 1.925_963e-8;
/// ln 10 less [`LN_10`].
const LN_10_LOW: f32 = -3.197_543_6e-8;

#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    GpuFloat::mul_add(a, b, c)
}

/// The polynomial with these coefficients, the highest power's first.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    let mut i = 1;
    while i < N {
        sum = fma(sum, x, coefficients[i]);
        i += 1;
    }
    sum
}

/// The nearest integer to `x`, as a float and as an integer; `x` is below 2^22.
#[inline(always)]
fn nearest(x: f32) -> (f32, i32) {
    let shifted = x + ROUNDER;
    (
        shifted - ROUNDER,
        shifted.to_bits().wrapping_sub(ROUNDER.to_bits()) as i32,
    )
}

/// `x · 2^n` for `x` near 1 and `n` from -252 to 254, rounded once.
#[inline(always)]
fn scale(x: f32, n: i32) -> f32 {
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    let half = n >> 1;
    // The first product is exact: only the second can leave the normal numbers.
    x * power(half) * power(n - half)
}

/// `x` in the interval, NaN as it is.
#[inline(always)]
fn clamp(x: f32, least: f32, greatest: f32) -> f32 {
    if x < least {
        least
    } else if x > greatest {
        greatest
    } else {
        x
    }
}

/// `e^r - 1` less the linear term, divided by r², for `|r|` up to ln 2 / 2.
#[inline(always)]
fn exp_tail(r: f32) -> f32 {
    polynomial(
        r,
        [
            0.000_198_919_8,
            0.001_393_454_1,
            0.008_333_31,
            0.041_666_456,
            0.166_666_67,
            0.5,
        ],
    )
}

/// `2^n · e^x`, where neither factor needs to be a float.
#[inline(always)]
fn exp_scaled(x: f32, n: i32) -> f32 {
    // Beyond these bounds the result is infinite or 0, for the values of `n` that are used here.
    let x = clamp(x, -105.0, 90.0);
    let (k, k_bits) = nearest(x * LOG2_E);
    let r = fma(k, -LN_2_LOW, fma(k, -LN_2, x));
    let e = fma(r * r, exp_tail(r), r) + 1.0;
    scale(e, k_bits + n)
}

/// e to the power of `x`.
#[inline]
pub fn exp(x: f32) -> f32 {
    exp_scaled(x, 0)
}

/// 2 to the power of `hi + lo`, where `lo` is at most an ulp of `hi`.
#[inline(always)]
fn exp2_of_sum(hi: f32, lo: f32) -> f32 {
    let (k, k_bits) = nearest(hi);
    let r = (hi - k) + lo;
    let tail = polynomial(
        r,
        [
            1.529_094_9e-5,
            0.000_154_531_63,
            0.001_333_352_2,
            0.009_618_083,
            0.055_504_11,
            0.240_226_5,
        ],
    );
    let linear = fma(r, LN_2, fma(r, LN_2_LOW, r * r * tail));
    scale(linear + 1.0, k_bits)
}

/// 2 to the power of `x`.
#[inline]
pub fn exp2(x: f32) -> f32 {
    exp2_of_sum(clamp(x, -152.0, 129.0), 0.0)
}

/// 10 to the power of `x`.
#[inline]
pub fn exp10(x: f32) -> f32 {
    // log10 2 in two parts, of which the first has 13 bits.
    const LOG10_2_HIGH: f32 = 0.301_025_4;
    const LOG10_2_LOW: f32 = 4.605_039e-6;
    let x = clamp(x, -46.0, 39.0);
    let (k, k_bits) = nearest(x * LOG2_10);
    let r = fma(k, -LOG10_2_LOW, fma(k, -LOG10_2_HIGH, x));
    // r · ln 10 in two parts.
    let t = r * LN_10;
    let low = fma(r, LN_10_LOW, fma(r, LN_10, -t));
    scale(fma(t * t, exp_tail(t), low) + t + 1.0, k_bits)
}

/// A positive, finite number as `(1 + f) · 2^e`, with `1 + f` from 2/3 to 4/3.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    // Subnormal numbers are made normal first.
    let (x, start) = if x < f32::MIN_POSITIVE {
        (x * 8_388_608.0, -23.0)
    } else {
        (x, 0.0)
    };
    let bits = x.to_bits() as i32;
    let exponent = bits.wrapping_sub(0x3f2a_aaab) & 0xff80_0000_u32 as i32;
    let mantissa = f32::from_bits((bits - exponent) as u32);
    (mantissa - 1.0, start + (exponent >> 23) as f32)
}

/// `ln(1 + f)` less the linear term, for `1 + f` from 2/3 to 4/3.
#[inline(always)]
fn ln_tail(f: f32) -> f32 {
    let tail = polynomial(
        f,
        [
            0.116_121_65,
            -0.127_262_89,
            0.108_532_876,
            -0.122_213_595,
            0.142_961_79,
            -0.166_779_74,
            0.199_998_53,
            -0.249_998_42,
            0.333_333_34,
            -0.5,
        ],
    );
    f * f * tail
}

/// What a logarithm of any base is for numbers that have none, or an infinite one.
#[inline(always)]
fn unusual_logarithm(x: f32) -> f32 {
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f32::NAN
    }
}

/// Whether a number has a finite logarithm.
#[inline(always)]
fn has_logarithm(x: f32) -> bool {
    x > 0.0 && x < f32::INFINITY
}

/// The natural logarithm.
#[inline]
pub fn ln(x: f32) -> f32 {
    if !has_logarithm(x) {
        return unusual_logarithm(x);
    }
    let (f, e) = split(x);
    fma(e, LN_2, fma(e, LN_2_LOW, ln_tail(f)) + f)
}

/// `a + b` for a whole number `a` that is 0 or larger than `b`, and `low` added with one rounding.
#[inline(always)]
fn sum(a: f32, b: f32, low: f32) -> f32 {
    let high = a + b;
    high + ((b - (high - a)) + low)
}

/// The logarithm of base 2.
#[inline]
pub fn log2(x: f32) -> f32 {
    if !has_logarithm(x) {
        return unusual_logarithm(x);
    }
    let (f, e) = split(x);
    let high = f * LOG2_E;
    let low = fma(f, LOG2_E_LOW, fma(f, LOG2_E, -high));
    sum(e, high, fma(ln_tail(f), LOG2_E, low))
}

/// The logarithm of base 10.
#[inline]
pub fn log10(x: f32) -> f32 {
    const LOG10_E: f32 = core::f32::consts::LOG10_E;
    const LOG10_E_LOW: f32 = -1.010_305e-8;
    const LOG10_2_HIGH: f32 = 0.301_025_4;
    const LOG10_2_LOW: f32 = 4.605_039e-6;
    if !has_logarithm(x) {
        return unusual_logarithm(x);
    }
    let (f, e) = split(x);
    let high = f * LOG10_E;
    let low = fma(f, LOG10_E_LOW, fma(f, LOG10_E, -high));
    let low = fma(ln_tail(f), LOG10_E, low);
    sum(e * LOG10_2_HIGH, high, fma(e, LOG10_2_LOW, low))
}

/// `log2 |x|` in two parts, for a finite `x` other than 0, with about 40 good bits.
#[inline(always)]
fn log2_in_parts(x: f32) -> (f32, f32) {
    let (f, e) = split(x);
    // ln(1 + f) = 2 artanh(q) with q = f / (2 + f), in two parts.
    let d = f + 2.0;
    let d_low = f - (d - 2.0);
    let reciprocal = 1.0 / d;
    let q = f * reciprocal;
    let rest = fma(-q, d_low, fma(-q, d, f));
    let q_low = rest * reciprocal;
    // artanh(q) = q + q³ (1/3 + q² (1/5 + …)), the third in two parts.
    let s = q * q;
    let s_low = fma(q + q, q_low, fma(q, q, -s));
    let tail = polynomial(s, [0.117_210_61, 0.142_757_85, 0.200_000_24]) * s;
    const THIRD: f32 = 0.333_333_34;
    const THIRD_LOW: f32 = -9.934_108e-9;
    let c = tail + THIRD;
    let c_low = (tail - (c - THIRD)) + THIRD_LOW;
    let cube = q * s;
    let cube_low = fma(q, s_low, fma(s, q_low, fma(q, s, -cube)));
    let term = cube * c;
    let term_low = fma(cube, c_low, fma(cube_low, c, fma(cube, c, -term)));
    let high = q + term;
    let low = ((q - high) + term) + (term_low + q_low);
    let (high, low) = (2.0 * high, 2.0 * low);
    // To base 2, and the exponent added.
    let scaled = high * LOG2_E;
    let scaled_low = fma(
        low,
        LOG2_E,
        fma(high, LOG2_E_LOW, fma(high, LOG2_E, -scaled)),
    );
    let whole = e + scaled;
    let whole_low = (scaled - (whole - e)) + scaled_low;
    let normal = whole + whole_low;
    (normal, (whole - normal) + whole_low)
}

/// `x` to the power of `y`, with the special cases of C99 (annex F.10.4.4).
#[inline]
pub fn powf(x: f32, y: f32) -> f32 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f32::NAN;
    }
    let magnitude = x.abs();
    let y_magnitude = y.abs();
    // Numbers from 2^24 on are even.
    let whole = y_magnitude >= 16_777_216.0 || GpuFloat::trunc(y) == y;
    let odd = whole && y_magnitude < 16_777_216.0 && (y as i32) & 1 == 1;
    let sign = if odd && x.is_sign_negative() {
        -1.0
    } else {
        1.0
    };
    if magnitude == 0.0 || magnitude == f32::INFINITY {
        let grows = (magnitude == 0.0) == (y < 0.0);
        return sign * if grows { f32::INFINITY } else { 0.0 };
    }
    if x < 0.0 && !whole {
        return f32::NAN;
    }
    if y_magnitude == f32::INFINITY {
        return match magnitude == 1.0 {
            true => 1.0,
            false if (magnitude > 1.0) == (y > 0.0) => f32::INFINITY,
            false => 0.0,
        };
    }
    let (log, log_low) = log2_in_parts(magnitude);
    let high = log * y;
    let low = fma(log_low, y, fma(log, y, -high));
    // Beyond these bounds the result is infinite or 0, and the low part may be NaN.
    let (high, low) = match high {
        high if high > 129.0 => (129.0, 0.0),
        high if high < -152.0 => (-152.0, 0.0),
        high => (high, low),
    };
    sign * exp2_of_sum(high, low)
}

/// The hyperbolic tangent.
#[inline]
pub fn tanh(x: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude < 0.55 {
        let s = x * x;
        let tail = polynomial(
            s,
            [
                0.002_370_765_7,
                -0.008_410_071,
                0.021_788_321,
                -0.053_961_553,
                0.133_333_13,
                -0.333_333_34,
            ],
        );
        return fma(x * s, tail, x);
    }
    // From 9.02 on, 1 is nearest.
    let e = exp(2.0 * clamp(magnitude, 0.0, 10.0));
    (1.0 - 2.0 / (e + 1.0)).copysign(x)
}

/// The hyperbolic sine.
#[inline]
pub fn sinh(x: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude < 1.0 {
        let s = x * x;
        let tail = polynomial(
            s,
            [
                2.806_280_2e-6,
                0.000_198_381_02,
                0.008_333_339,
                0.166_666_67,
            ],
        );
        return fma(x * s, tail, x);
    }
    // Half of e^x is finite where the result is.
    let half = exp_scaled(magnitude, -1);
    (half - 0.25 / half).copysign(x)
}

/// The hyperbolic cosine.
#[inline]
pub fn cosh(x: f32) -> f32 {
    let half = exp_scaled(x.abs(), -1);
    half + 0.25 / half
}

pub use super::trigonometry::{cos, cospi, sin, sin_cos, sincospi, sinpi, tan};

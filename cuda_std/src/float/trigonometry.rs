//! Trigonometric functions of `f32`; see [`single`](super::single).

use super::GpuFloat;

#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    GpuFloat::mul_add(a, b, c)
}

/// The distance of an angle to the nearest multiple of π/2, and that multiple modulo 4.
#[derive(Clone, Copy)]
struct Reduced {
    distance: f32,
    quadrant: i32,
}

/// Up to here three parts of π/2 are enough: the multiple has 17 bits.
const SMALL: f32 = 105_615.0;

#[inline(always)]
fn reduce(x: f32) -> Reduced {
    if x.abs() <= SMALL {
        // π/2 = 1.570796 + 3.139165e-7 + 5.390302e-15, the first with zeros at its end (Cody and
        // Waite, "Software Manual for the Elementary Functions", 1980).
        const PARTS: [f32; 3] = [f32::from_bits(0x3fc9_0fd8), 3.139_164_7e-7, 5.390_302_5e-15];
        let multiple = GpuFloat::round_ties_even(x * core::f32::consts::FRAC_2_PI);
        let rest = fma(multiple, -PARTS[0], x);
        let rest = fma(multiple, -PARTS[1], rest);
        return Reduced {
            distance: fma(multiple, -PARTS[2], rest),
            quadrant: multiple as i32,
        };
    }
    reduce_large(x)
}

/// By as many bits of 1/(2π) as the result needs (Payne and Hanek, "Radian Reduction for
/// Trigonometric Functions", 1983).
#[inline]
fn reduce_large(x: f32) -> Reduced {
    /// The first 224 bits of 1/(2π), which is 2/π with two bits more before it.
    const ONE_BY_TWO_PI: [u32; 7] = [
        0x28be_60db,
        0x9391_054a,
        0x7f09_d5f4,
        0x7d4d_3770,
        0x36d8_a566,
        0x4f10_e410,
        0x7f94_58ea,
    ];
    if !x.is_finite() {
        return Reduced {
            distance: f32::NAN,
            quadrant: 0,
        };
    }
    let bits = x.to_bits();
    // |x| = mantissa · 2^(exponent - 32), with the mantissa's highest bit set. The exponent is from
    // 17 to 128.
    let exponent = (bits >> 23 & 0xff) - 126;
    let mantissa = u64::from((bits & 0x7f_ffff | 0x80_0000) << 8);
    // The 96 bits that matter: those before them make whole turns, those behind less than the
    // result's last bit.
    let (word, shift) = ((exponent / 32) as usize, exponent % 32);
    let before = if word == 0 {
        0
    } else {
        ONE_BY_TWO_PI[word - 1]
    };
    let window = |high: u32, low: u32| {
        let both = u64::from(high) << 32 | u64::from(low);
        both << shift >> 32 & 0xffff_ffff
    };
    let high = window(before, ONE_BY_TWO_PI[word]);
    let middle = window(ONE_BY_TWO_PI[word], ONE_BY_TWO_PI[word + 1]);
    let low = window(ONE_BY_TWO_PI[word + 1], ONE_BY_TWO_PI[word + 2]);
    let product = (mantissa.wrapping_mul(high) << 32)
        .wrapping_add(mantissa * middle)
        .wrapping_add((mantissa * low) >> 32);
    // Two bits of the multiple, and 62 of a fraction, which is rounded to the nearest multiple.
    let multiple = (product >> 61).wrapping_add(1) >> 1;
    let fraction = (product.wrapping_sub(multiple << 62)) as i64;
    // π/2 · 2^-62.
    let distance = (fraction as f64 * 3.406_121_580_030_425_4e-19) as f32;
    let multiple = multiple as i32;
    if x < 0.0 {
        Reduced {
            distance: -distance,
            quadrant: -multiple,
        }
    } else {
        Reduced {
            distance,
            quadrant: multiple,
        }
    }
}

/// The sine of an angle up to π/4.
#[inline(always)]
fn sin_near_zero(r: f32) -> f32 {
    let s = r * r;
    let p = fma(2.724_378_2e-6, s, -0.000_198_400_39);
    let p = fma(p, s, 0.008_333_332);
    let p = fma(p, s, -0.166_666_67);
    // With a product of its own, so that -0 stays -0.
    fma(p, r * s, r)
}

/// The cosine of an angle up to π/4.
#[inline(always)]
fn cos_near_zero(r: f32) -> f32 {
    let s = r * r;
    let p = fma(-2.729_573_2e-7, s, 2.480_056e-5);
    let p = fma(p, s, -0.001_388_888_8);
    let p = fma(p, s, 0.041_666_668);
    fma(fma(p, s, -0.5), s, 1.0)
}

/// Of a sine and a cosine near 0, the one that a quadrant has, with its sign.
#[inline(always)]
fn in_quadrant(sin: f32, cos: f32, quadrant: i32) -> f32 {
    let value = if quadrant & 1 == 0 { sin } else { cos };
    if quadrant & 2 == 0 { value } else { -value }
}

/// The sine of an angle in radians.
#[inline]
pub fn sin(x: f32) -> f32 {
    let Reduced { distance, quadrant } = reduce(x);
    in_quadrant(sin_near_zero(distance), cos_near_zero(distance), quadrant)
}

/// The cosine of an angle in radians.
#[inline]
pub fn cos(x: f32) -> f32 {
    let Reduced { distance, quadrant } = reduce(x);
    in_quadrant(
        sin_near_zero(distance),
        cos_near_zero(distance),
        quadrant.wrapping_add(1),
    )
}

/// The sine and the cosine of an angle in radians.
#[inline]
pub fn sin_cos(x: f32) -> (f32, f32) {
    let Reduced { distance, quadrant } = reduce(x);
    let (sin, cos) = (sin_near_zero(distance), cos_near_zero(distance));
    (
        in_quadrant(sin, cos, quadrant),
        in_quadrant(sin, cos, quadrant.wrapping_add(1)),
    )
}

/// The tangent of an angle in radians.
#[inline]
pub fn tan(x: f32) -> f32 {
    let Reduced { distance, quadrant } = reduce(x);
    let s = distance * distance;
    let p = fma(0.003_927_918_6, s, 0.001_041_015_8);
    let p = fma(p, s, 0.010_053_384);
    let p = fma(p, s, 0.021_594_848);
    let p = fma(p, s, 0.053_997_837);
    let p = fma(p, s, 0.133_332_15);
    let p = fma(p, s, 0.333_333_34);
    let tan = fma(p, distance * s, distance);
    if quadrant & 1 == 0 { tan } else { -1.0 / tan }
}

/// `2 x` modulo 4 as a quadrant, and `x` less half of that.
#[inline(always)]
fn reduce_half_turns(x: f32) -> Reduced {
    // Numbers from 2^24 on are even, and so are all multiples of π of them whole turns.
    let x = if x.abs() < 16_777_216.0 { x } else { 0.0 * x };
    let doubled = GpuFloat::round_ties_even(2.0 * x);
    Reduced {
        distance: fma(doubled, -0.5, x),
        quadrant: doubled as i32,
    }
}

#[inline(always)]
fn sinpi_near_zero(r: f32) -> f32 {
    // π less its f32.
    const PI_LOW: f32 = -8.742_278e-8;
    let s = r * r;
    let p = fma(0.081_229_575, s, -0.599_228_8);
    let p = fma(p, s, 2.550_163_5);
    let p = fma(p, s, -5.167_712_7);
    fma(r, core::f32::consts::PI, fma(r, PI_LOW, p * s * r))
}

#[inline(always)]
fn cospi_near_zero(r: f32) -> f32 {
    let s = r * r;
    let p = fma(-0.025_507_05, s, 0.235_314_26);
    let p = fma(p, s, -1.335_262_4);
    let p = fma(p, s, 4.058_712);
    let p = fma(p, s, -4.934_802);
    fma(p, s, 1.0)
}

/// The sine of `x` half turns: of `π x`.
#[inline]
pub fn sinpi(x: f32) -> f32 {
    sincospi(x).0
}

/// The cosine of `x` half turns: of `π x`.
#[inline]
pub fn cospi(x: f32) -> f32 {
    sincospi(x).1
}

/// The sine and the cosine of `x` half turns.
#[inline]
pub fn sincospi(x: f32) -> (f32, f32) {
    let Reduced { distance, quadrant } = reduce_half_turns(x);
    let (sin, cos) = (sinpi_near_zero(distance), cospi_near_zero(distance));
    let sine = in_quadrant(sin, cos, quadrant);
    // The sine of whole numbers is 0 with their sign (IEEE 754-2019, 9.2.1).
    let sine = if sine == 0.0 { 0.0 * x } else { sine };
    (sine, in_quadrant(sin, cos, quadrant.wrapping_add(1)))
}

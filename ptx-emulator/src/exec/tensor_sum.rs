//! The arithmetic of tensor cores: dot products with one rounding at the end.
//!
//! PTX leaves the order and the rounding of these sums open. This is what an H200 (compute
//! capability 9.0) does: products are exact; the products of one instruction along k and the addend
//! are aligned to the largest exponent among them, truncated to 25 bits after the binary point, and
//! added as integers; the sum is truncated to f32. Exponents are those of the factors, so a product
//! may reach 4 at exponent 0. Earlier generations keep fewer bits and add in smaller groups.

use super::simd::{self, Level};
use crate::ir::MatrixInputs;

/// Bits after the binary point of the largest exponent that enter a sum.
const FRACTION_BITS: i32 = 25;

/// The exponent of zero: no other is as low.
const NO_EXPONENT: i32 = -100_000;

/// The NaN that tensor cores give.
const NAN: u32 = 0x7fff_ffff;

/// A float: `significand` · 2^(`exponent` − the format's fraction bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor {
    significand: i32,
    exponent: i32,
    special: Special,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    None,
    Infinite,
    Nan,
}

impl Factor {
    pub(super) const ZERO: Factor = Factor {
        significand: 0,
        exponent: NO_EXPONENT,
        special: Special::None,
    };

    /// The number, or its negative.
    pub(super) fn negated_if(self, negate: bool) -> Self {
        let significand = match negate {
            true => -self.significand,
            false => self.significand,
        };
        Factor {
            significand,
            ..self
        }
    }

    /// A number of a format with this many bits of exponent and fraction.
    fn new(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Self {
        let fraction = (bits & ((1 << fraction_bits) - 1)) as i32;
        let top = (1 << exponent_bits) - 1;
        let biased = (bits >> fraction_bits & top) as i32;
        let negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
        let special = match (biased as u32 == top, fraction) {
            (false, _) => Special::None,
            (true, 0) => Special::Infinite,
            (true, _) => Special::Nan,
        };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let significand = match biased {
            0 => fraction,
            _ => fraction | 1 << fraction_bits,
        };
        let exponent = match significand {
            0 => NO_EXPONENT,
            _ => biased.max(1) - bias,
        };
        Factor {
            significand: if negative { -significand } else { significand },
            exponent,
            special,
        }
    }

    /// An element of A or B from the low bits of a word.
    pub(super) fn of(inputs: MatrixInputs, bits: u32) -> Self {
        match inputs {
            MatrixInputs::F16 => Factor::new(bits & 0xffff, 5, 10),
            MatrixInputs::Bf16 => Factor::new(bits & 0xffff, 8, 7),
            // The low 13 bits of the register are ignored.
            MatrixInputs::Tf32 | MatrixInputs::F64 => Factor::new(bits >> 13, 8, 10),
            // Their sums are exact, and not of floats.
            MatrixInputs::Integer { .. } => Factor::ZERO,
        }
    }
}

fn fraction_bits(inputs: MatrixInputs) -> i32 {
    match inputs {
        MatrixInputs::Bf16 => 7,
        _ => 10,
    }
}

/// Most factors of a line.
pub(super) const MAX_DEPTH: usize = 16;

/// A row of A or a column of B as far as one instruction goes along k; zero past its end.
#[derive(Clone, Debug)]
pub(super) struct Line {
    significands: [i32; MAX_DEPTH],
    exponents: [i32; MAX_DEPTH],
    special: [Special; MAX_DEPTH],
    is_special: bool,
}

impl Line {
    /// Of factors, at most [`MAX_DEPTH`].
    pub(super) fn new(factors: &[Factor]) -> Self {
        let of = |at: usize| factors.get(at).copied().unwrap_or(Factor::ZERO);
        Line {
            significands: std::array::from_fn(|at| of(at).significand),
            exponents: std::array::from_fn(|at| of(at).exponent),
            special: std::array::from_fn(|at| of(at).special),
            is_special: factors.iter().any(|factor| factor.special != Special::None),
        }
    }
}

/// `addend` plus the dot product of `row` and `column`, as f32.
pub(super) fn dot_product(
    level: Level,
    inputs: MatrixInputs,
    row: &Line,
    column: &Line,
    addend: u32,
) -> u32 {
    let c = Factor::new(addend, 8, 23);
    if c.special != Special::None || row.is_special || column.is_special {
        return special_sum(row, column, addend);
    }
    let up = FRACTION_BITS - 2 * fraction_bits(inputs);
    let (sum, highest) = simd::aligned_sum(level, row, column, c.exponent, up as u32);
    let magnitude = i64::from(c.significand.unsigned_abs()) << (FRACTION_BITS - 23);
    let magnitude = magnitude >> (highest - c.exponent).min(63);
    let cut = if c.significand < 0 {
        -magnitude
    } else {
        magnitude
    };
    to_f32(i64::from(sum) + cut, highest)
}

/// The sum of the products, truncated after the last bit of the largest exponent, and that
/// exponent, which is at least `floor`. Products are `up` bits short of the binary point.
///
/// Factors have 11 bits, so that sixteen products with 25 bits after the binary point stay below
/// 2^31.
#[inline(always)]
pub(super) fn aligned_sum(row: &Line, column: &Line, floor: i32, up: u32) -> (i32, i32) {
    let mut highest = floor;
    for (a, b) in row.exponents.iter().zip(&column.exponents) {
        highest = highest.max(a + b);
    }
    let mut sum = 0;
    for at in 0..MAX_DEPTH {
        let product = row.significands[at] * column.significands[at];
        let exponent = row.exponents[at] + column.exponents[at];
        let magnitude = product.unsigned_abs() << up >> (highest - exponent).min(31);
        sum += match product < 0 {
            true => -(magnitude as i32),
            false => magnitude as i32,
        };
    }
    (sum, highest)
}

/// `sum` · 2^(`exponent` − 25), truncated to f32.
fn to_f32(sum: i64, exponent: i32) -> u32 {
    let magnitude = sum.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let sign = u32::from(sum < 0) << 31;
    let top = 63 - magnitude.leading_zeros() as i32;
    let exponent = exponent + top - FRACTION_BITS;
    if exponent > 127 {
        return sign | 0x7f80_0000;
    }
    // The bits that f32 has at this exponent; subnormals have fewer.
    let kept = 23.min(exponent + 126 + 23);
    if kept < 0 {
        return sign;
    }
    let shift = top - kept;
    let significand = match shift >= 0 {
        true => magnitude >> shift,
        false => magnitude << -shift,
    } as u32;
    match exponent >= -126 {
        true => sign | ((exponent + 127) as u32) << 23 | significand & 0x7f_ffff,
        false => sign | significand,
    }
}

/// A sum with infinities or NaNs in it.
fn special_sum(row: &Line, column: &Line, addend: u32) -> u32 {
    let c = f32::from_bits(addend);
    let mut sum = match c.is_finite() {
        true => 0.0,
        false => c,
    };
    for at in 0..MAX_DEPTH {
        let value = |line: &Line| {
            let sign = line.significands[at].signum() as f32;
            match line.special[at] {
                Special::None => sign,
                Special::Infinite => f32::INFINITY * sign,
                Special::Nan => f32::NAN,
            }
        };
        let product = value(row) * value(column);
        if !product.is_finite() {
            sum += product;
        }
    }
    match sum.is_nan() {
        true => NAN,
        false => sum.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(pairs: &[(f32, f32)], addend: f32) -> f32 {
        let factor = |x: f32| Factor::of(MatrixInputs::Tf32, x.to_bits());
        let row: Vec<Factor> = pairs.iter().map(|pair| factor(pair.0)).collect();
        let column: Vec<Factor> = pairs.iter().map(|pair| factor(pair.1)).collect();
        let (row, column) = (Line::new(&row), Line::new(&column));
        let sums = Level::available()
            .into_iter()
            .map(|level| dot_product(level, MatrixInputs::Tf32, &row, &column, addend.to_bits()));
        let sums: Vec<u32> = sums.collect();
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:x?}");
        f32::from_bits(sums[0])
    }

    #[test]
    fn small_sums_are_exact() {
        assert_eq!(sum(&[(2.0, 3.0), (-1.5, 4.0)], 0.25), 0.25);
        assert_eq!(sum(&[(0.0, 5.0), (0.0, 0.0)], 0.0), 0.0);
        assert_eq!(sum(&[(1.0, 1.0)], -1.0), 0.0);
        assert_eq!(sum(&[], -1.1e-40), -1.1e-40);
    }

    #[test]
    fn what_lies_too_low_is_cut_off() {
        let tiny = 2f32.powi(-13);
        // 2^-26 next to 1: below the last bit that enters the sum.
        assert_eq!(sum(&[(tiny, tiny), (-1.0, 1.0)], 1.0), 0.0);
        let tiny = 2f32.powi(-12);
        assert_eq!(sum(&[(tiny, tiny), (-1.0, 1.0)], 1.0), 2f32.powi(-24));
        // Results are cut off, not rounded.
        assert_eq!(sum(&[(tiny, 1.5 * tiny)], 1.0), 1.0);
    }

    #[test]
    fn infinities_and_nans() {
        assert_eq!(sum(&[(f32::INFINITY, -2.0)], 1.0), f32::NEG_INFINITY);
        assert!(sum(&[(f32::INFINITY, 0.0)], 1.0).is_nan());
        assert!(sum(&[(f32::INFINITY, 1.0)], f32::NEG_INFINITY).is_nan());
        assert_eq!(sum(&[(3e38, 3e38)], 0.0), f32::INFINITY);
    }
}

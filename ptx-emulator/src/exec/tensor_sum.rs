//! The arithmetic of tensor cores: dot products with one rounding at the end.
//!
//! PTX leaves the order and the rounding of these sums open. This is what an H200 (compute
//! capability 9.0) does: products are exact; the products of one instruction along k and the addend
//! are aligned to the largest exponent among them, truncated to 25 bits after the binary point, and
//! added as integers; the sum is truncated to f32. Exponents are those of the factors, so a product
//! may reach 4 at exponent 0. Earlier generations keep fewer bits and add in smaller groups.
//!
//! Sums in f16 are the same sum, rounded to the nearest f16, as an H100 gave them. Those of `wgmma`
//! and of GPUs that multiply 8-bit and narrower floats were not measured for this project. They
//! follow what P. Xie and others measured and published ("MMA-Sim: Bit-Accurate Reference Model of
//! Tensor Cores and Matrix Cores", 2025): of `wgmma` of 8-bit floats, 13 bits after the binary
//! point are in the sum and in the result.

mod any_sum;
mod factor;
mod half_tile;
mod tile;

use super::simd::{self, Level};
use crate::ir::MatrixInputs;
pub(super) use any_sum::{Kind, Scale, any_dot_product, scaled_dot_product};
pub(super) use factor::{Factor, Factors, factors, is_special};
use factor::{Special, fraction_bits};
pub(super) use tile::{TILE_COLUMNS, Tile, tile};

/// Bits after the binary point of the largest exponent that enter a sum.
const FRACTION_BITS: i32 = 25;

/// The NaN that tensor cores give.
const NAN: u32 = 0x7fff_ffff;

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

/// `sum` · 2^(`exponent` − 25), truncated to f32. What is left of nothing has no sign.
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
        return 0;
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
mod tests;

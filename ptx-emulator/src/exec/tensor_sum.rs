//! The arithmetic of tensor cores: dot products with one rounding at the end.
//!
//! PTX leaves the order and the rounding of these sums open. This is what an H200 (compute
//! capability 9.0) does: products are exact; the products of one instruction along k and the addend
//! are aligned to the largest exponent among them, truncated to 25 bits after the binary point, and
//! added as integers; the sum is truncated to f32. Exponents are those of the factors, so a product
//! may reach 4 at exponent 0. Earlier generations keep fewer bits and add in smaller groups.

use super::simd::{self, Level};
use super::vector::{LANES, Lanes32};
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

/// Elements of A or B, none of them an infinity or NaN: `significands` · 2^(`exponents` − the
/// format's fraction bits).
#[derive(Clone, Debug)]
pub(super) struct Factors {
    pub significands: [i32; LANES],
    pub exponents: [i32; LANES],
    /// Whether there are infinities or NaNs among them after all.
    pub has_special: bool,
}

/// The elements that a register holds from bit `shift` on.
#[inline(always)]
pub(super) fn factors(inputs: MatrixInputs, words: &Lanes32, shift: u32) -> Factors {
    let (exponent_bits, fraction_bits, skipped) = match inputs {
        MatrixInputs::F16 => (5, 10, 0),
        MatrixInputs::Bf16 => (8, 7, 0),
        _ => (8, 10, 13),
    };
    let mut all = Factors {
        significands: [0; LANES],
        exponents: [0; LANES],
        has_special: false,
    };
    let mut special = 0;
    for (lane, word) in words.iter().enumerate() {
        let bits = word >> shift >> skipped;
        let (significand, exponent, is_special) = split(bits, exponent_bits, fraction_bits);
        all.significands[lane] = significand;
        all.exponents[lane] = exponent;
        special |= u32::from(is_special);
    }
    all.has_special = special != 0;
    all
}

/// Significand and exponent as in [`Factor`], and whether the number is an infinity or NaN.
#[inline(always)]
fn split(bits: u32, exponent_bits: u32, fraction_bits: u32) -> (i32, i32, bool) {
    let top = (1 << exponent_bits) - 1;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let biased = bits >> fraction_bits & top;
    let hidden = u32::from(biased != 0) << fraction_bits;
    let significand = (fraction | hidden) as i32;
    let exponent = biased.max(1) as i32 - (top >> 1) as i32;
    let exponent = if significand == 0 {
        NO_EXPONENT
    } else {
        exponent
    };
    let is_negative = bits >> (fraction_bits + exponent_bits) & 1 != 0;
    let signed = if is_negative {
        -significand
    } else {
        significand
    };
    (signed, exponent, biased == top)
}

/// Columns of D that are computed at once.
pub(super) const TILE_COLUMNS: usize = 8;

/// A product of matrices without infinities and NaNs: D = A · B + C, each by rows.
pub(super) struct Tile<'a> {
    pub inputs: MatrixInputs,
    /// Columns of A and rows of B.
    pub depth: usize,
    /// Columns of B: a multiple of [`TILE_COLUMNS`].
    pub columns: usize,
    /// Significands and exponents.
    pub a: [&'a [i32]; 2],
    pub b: [&'a [i32]; 2],
    pub c: &'a [u32],
}

/// Whether an f32 is an infinity or NaN.
#[inline(always)]
pub(super) fn is_special(bits: u32) -> bool {
    bits & 0x7f80_0000 == 0x7f80_0000
}

/// What [`dot_product`] gives for each element.
#[inline(always)]
pub(super) fn tile(product: &Tile<'_>, d: &mut [u32]) {
    let (depth, blocks) = (product.depth, product.columns / TILE_COLUMNS);
    let up = (FRACTION_BITS - 2 * fraction_bits(product.inputs)) as u32;
    let of_b = product.b.map(|b| b.as_chunks::<TILE_COLUMNS>().0);
    let of_c = product.c.as_chunks::<TILE_COLUMNS>().0;
    let of_d = d.as_chunks_mut::<TILE_COLUMNS>().0;
    for (at, (d, c)) in of_d.iter_mut().zip(of_c).enumerate() {
        let (row, block) = (at / blocks, at % blocks);
        let a = product.a.map(|a| &a[row * depth..][..depth]);
        let b = of_b.map(|b| b[block..].iter().step_by(blocks));
        let (mut significands, mut exponents) = ([0; TILE_COLUMNS], [0; TILE_COLUMNS]);
        for column in 0..TILE_COLUMNS {
            (significands[column], exponents[column], _) = split(c[column], 8, 23);
        }
        let mut highest = exponents;
        for (exponent, others) in a[1].iter().zip(b[1].clone()) {
            for column in 0..TILE_COLUMNS {
                highest[column] = highest[column].max(exponent + others[column]);
            }
        }
        let mut sums = [0i32; TILE_COLUMNS];
        let of_a = a[0].iter().zip(a[1]);
        let [of_b, with] = b;
        for ((significand, exponent), (others, with)) in of_a.zip(of_b.zip(with)) {
            for column in 0..TILE_COLUMNS {
                let factors = significand * others[column];
                let below = (highest[column] - exponent - with[column]).min(31);
                let magnitude = (factors.unsigned_abs() << up >> (below & 31)) as i32;
                let sign = factors >> 31;
                sums[column] += (magnitude ^ sign) - sign;
            }
        }
        let mut addends = [0i32; TILE_COLUMNS];
        for column in 0..TILE_COLUMNS {
            let below = (highest[column] - exponents[column]).min(31);
            let bits = significands[column].unsigned_abs() << (FRACTION_BITS - 23);
            let magnitude = (bits >> (below & 31)) as i32;
            let sign = significands[column] >> 31;
            addends[column] = (magnitude ^ sign) - sign;
        }
        for column in 0..TILE_COLUMNS {
            d[column] = truncated(sums[column], addends[column], highest[column]);
        }
    }
}

/// As [`to_f32`], of a sum that is given in two parts.
#[inline(always)]
fn truncated(sum: i32, addend: i32, exponent: i32) -> u32 {
    // All of it is exact in f64: 33 bits, and exponents of products of two f32.
    let scale = (exponent - FRACTION_BITS).clamp(-1000, 1000);
    let scale = f64::from_bits(((scale + 1023) as u64) << 52);
    let value = (f64::from(sum) + f64::from(addend)) * scale;
    let near = value as f32;
    let bits = near.to_bits();
    let is_beyond = f64::from(near).abs() > value.abs();
    let bits = bits - u32::from(is_beyond);
    const OVERFLOW: f64 = 2.0 * (1u128 << 127) as f64;
    let infinity = bits & 1 << 31 | 0x7f80_0000;
    if value.abs() >= OVERFLOW {
        infinity
    } else {
        bits
    }
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

    /// Tiles are their elements, one by one.
    #[test]
    fn tiles_are_their_dot_products() {
        let mut state = 0x1234_5678u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        for (inputs, depth) in [
            (MatrixInputs::F16, 16),
            (MatrixInputs::F16, 8),
            (MatrixInputs::Bf16, 16),
            (MatrixInputs::Tf32, 8),
        ] {
            for round in 0..200 {
                // All exponents, and those near 1, where sums cancel; some zeros.
                let element = |bits: u32| match (inputs, round % 3) {
                    _ if bits.is_multiple_of(11) => 0,
                    (MatrixInputs::F16, 0) => bits & 0xbbff,
                    (MatrixInputs::F16, _) => bits & 0x87ff | 0x3800,
                    (MatrixInputs::Bf16, 0) => bits & 0xbfff,
                    (MatrixInputs::Bf16, _) => bits & 0x81ff | 0x3e00,
                    (_, 0) => bits & 0xbfff_ffff,
                    _ => bits & 0x81ff_ffff | 0x3e00_0000,
                };
                let mut words = || -> Lanes32 { std::array::from_fn(|_| element(random())) };
                // Up to 16 rows and columns of 16 elements; what is not used does not matter.
                let a: Vec<u32> = (0..8).flat_map(|_| words()).collect();
                let b: Vec<u32> = (0..8).flat_map(|_| words()).collect();
                let columns = 16;
                let rows = a.len() / depth;
                let c: Vec<u32> = (0..rows * columns)
                    .map(|at| match at % 5 {
                        0 => 0,
                        _ => random() & 0xbfff_ffff,
                    })
                    .collect();
                for level in Level::available() {
                    let split = |elements: &[u32]| {
                        let mut parts = [Vec::new(), Vec::new()];
                        for row in elements.as_chunks::<LANES>().0 {
                            let factors = simd::factors(level, inputs, row, 0);
                            assert!(!factors.has_special);
                            parts[0].extend(factors.significands);
                            parts[1].extend(factors.exponents);
                        }
                        parts
                    };
                    let (of_a, of_b) = (split(&a), split(&b));
                    let tile = Tile {
                        inputs,
                        depth,
                        columns,
                        a: of_a.each_ref().map(Vec::as_slice),
                        b: of_b.each_ref().map(Vec::as_slice),
                        c: &c,
                    };
                    let mut d = vec![0; rows * columns];
                    simd::tile(level, &tile, &mut d);
                    for (at, d) in d.iter().enumerate() {
                        let (row, column) = (at / columns, at % columns);
                        let line = |element: &dyn Fn(usize) -> u32| {
                            let factors = (0..depth).map(|k| Factor::of(inputs, element(k)));
                            Line::new(&factors.collect::<Vec<_>>())
                        };
                        let row = line(&|k| a[row * depth + k]);
                        let column = line(&|k| b[k * columns + column]);
                        let wanted = dot_product(level, inputs, &row, &column, c[at]);
                        assert_eq!(*d, wanted, "{inputs:?} {level:?}: {d:x}, not {wanted:x}");
                    }
                }
            }
        }
    }

    #[test]
    fn infinities_and_nans() {
        assert_eq!(sum(&[(f32::INFINITY, -2.0)], 1.0), f32::NEG_INFINITY);
        assert!(sum(&[(f32::INFINITY, 0.0)], 1.0).is_nan());
        assert!(sum(&[(f32::INFINITY, 1.0)], f32::NEG_INFINITY).is_nan());
        assert_eq!(sum(&[(3e38, 3e38)], 0.0), f32::INFINITY);
    }
}

//! Tiles of f16 without infinities and NaNs, with sums in f32.
//!
//! A product of two f16 is exact in f32, and so is its product with a power of two. So a product is
//! aligned and truncated by one multiplication and one conversion to an integer, where integers
//! need a shift by another number in each lane and the sign apart. What a scale makes too small for
//! f32 is far below 1, and becomes 0 in both.

use super::super::simd;
use super::FRACTION_BITS;
use super::factor::{fraction_bits, split};
use super::tile::{Tile, addends, truncated};
use crate::ir::MatrixInputs;

/// Most elements of A and of B.
const FACTORS: usize = 512;

/// The elements of A and B.
pub(super) struct Values {
    a: [f32; FACTORS],
    b: [f32; FACTORS],
}

impl Values {
    pub(super) const ZERO: Values = Values {
        a: [0.0; FACTORS],
        b: [0.0; FACTORS],
    };

    /// Becomes those of a product; false, with nothing done, where there is no room for them or the
    /// inputs are other than f16.
    #[inline(always)]
    pub(super) fn set(&mut self, product: &Tile<'_>) -> bool {
        let largest = product.a[0].len().max(product.b[0].len());
        if product.inputs != MatrixInputs::F16 || largest > FACTORS {
            return false;
        }
        for (to, [significands, exponents]) in [(&mut self.a, product.a), (&mut self.b, product.b)]
        {
            for (to, (significand, exponent)) in
                to.iter_mut().zip(significands.iter().zip(exponents))
            {
                // Zeros have an exponent of their own, which no power of two has.
                let exponent = (*exponent).max(-100) - fraction_bits(MatrixInputs::F16);
                *to = *significand as f32 * power_of_two(exponent);
            }
        }
        true
    }
}

/// 2^`exponent`, which is brought to the exponents of normal f32.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent.clamp(-126, 127) + 127) as u32) << 23)
}

/// As [`super::tile()`], a number of columns at once.
#[inline(always)]
pub(super) fn tile_by<const COLUMNS: usize>(product: &Tile<'_>, values: &Values, d: &mut [u32]) {
    let (depth, blocks) = (product.depth, product.columns / COLUMNS);
    let exponents_b = product.b[1].as_chunks::<COLUMNS>().0;
    let values_b = values.b.as_chunks::<COLUMNS>().0;
    let of_c = product.c.as_chunks::<COLUMNS>().0;
    let of_d = d.as_chunks_mut::<COLUMNS>().0;
    for (at, (d, c)) in of_d.iter_mut().zip(of_c).enumerate() {
        let (row, block) = (at / blocks, at % blocks);
        let exponents_a = &product.a[1][row * depth..][..depth];
        let (mut significands, mut exponents) = ([0; COLUMNS], [0; COLUMNS]);
        for column in 0..COLUMNS {
            (significands[column], exponents[column], _) = split(c[column], 8, 23);
        }
        let mut highest = exponents;
        let with = exponents_b[block..].iter().step_by(blocks);
        for (exponent, others) in exponents_a.iter().zip(with) {
            for column in 0..COLUMNS {
                highest[column] = highest[column].max(exponent + others[column]);
            }
        }
        // Where the largest exponent is lower than any of a product, all products are 0.
        let mut scales = [0.0; COLUMNS];
        for column in 0..COLUMNS {
            scales[column] = power_of_two(FRACTION_BITS - highest[column]);
        }
        let mut sums = [0i32; COLUMNS];
        let of_a = &values.a[row * depth..][..depth];
        let of_b = values_b[block..].iter().step_by(blocks);
        for (a, b) in of_a.iter().zip(of_b) {
            for column in 0..COLUMNS {
                sums[column] += simd::truncate(a * b[column] * scales[column]);
            }
        }
        let addends = addends(&significands, &exponents, &highest);
        for column in 0..COLUMNS {
            d[column] = truncated(sums[column], addends[column], highest[column]);
        }
    }
}

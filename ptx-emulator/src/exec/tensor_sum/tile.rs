//! Tiles of D whose products are all finite: several columns at once.

use super::factor::{fraction_bits, split};
use super::{FRACTION_BITS, half_tile};
use crate::ir::MatrixInputs;

/// Columns of D that are computed at once.
pub(in crate::exec) const TILE_COLUMNS: usize = 8;

/// A product of matrices without infinities and NaNs: D = A · B + C, each by rows.
pub(in crate::exec) struct Tile<'a> {
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

/// What [`super::dot_product`] gives for each element.
#[inline(always)]
pub(in crate::exec) fn tile(product: &Tile<'_>, d: &mut [u32]) {
    // In place: they are 4 KB, which a result that may be none would copy.
    let mut values = half_tile::Values::ZERO;
    if values.set(product) {
        let values = &values;
        return match product.columns % (2 * TILE_COLUMNS) {
            0 => half_tile::tile_by::<{ 2 * TILE_COLUMNS }>(product, values, d),
            _ => half_tile::tile_by::<TILE_COLUMNS>(product, values, d),
        };
    }
    match product.columns % (2 * TILE_COLUMNS) {
        0 => tile_by::<{ 2 * TILE_COLUMNS }>(product, d),
        _ => tile_by::<TILE_COLUMNS>(product, d),
    }
}

/// As [`tile`], a number of columns at once.
#[inline(always)]
fn tile_by<const COLUMNS: usize>(product: &Tile<'_>, d: &mut [u32]) {
    let (depth, blocks) = (product.depth, product.columns / COLUMNS);
    let up = (FRACTION_BITS - 2 * fraction_bits(product.inputs)) as u32;
    let of_b = product.b.map(|b| b.as_chunks::<COLUMNS>().0);
    let of_c = product.c.as_chunks::<COLUMNS>().0;
    let of_d = d.as_chunks_mut::<COLUMNS>().0;
    for (at, (d, c)) in of_d.iter_mut().zip(of_c).enumerate() {
        let (row, block) = (at / blocks, at % blocks);
        let a = product.a.map(|a| &a[row * depth..][..depth]);
        let b = of_b.map(|b| b[block..].iter().step_by(blocks));
        let (mut significands, mut exponents) = ([0; COLUMNS], [0; COLUMNS]);
        for column in 0..COLUMNS {
            (significands[column], exponents[column], _) = split(c[column], 8, 23);
        }
        let mut highest = exponents;
        for (exponent, others) in a[1].iter().zip(b[1].clone()) {
            for column in 0..COLUMNS {
                highest[column] = highest[column].max(exponent + others[column]);
            }
        }
        let mut sums = [0i32; COLUMNS];
        let of_a = a[0].iter().zip(a[1]);
        let [of_b, with] = b;
        for ((significand, exponent), (others, with)) in of_a.zip(of_b.zip(with)) {
            for column in 0..COLUMNS {
                let factors = significand * others[column];
                let below = (highest[column] - exponent - with[column]).min(31);
                let magnitude = (factors.unsigned_abs() << up >> (below & 31)) as i32;
                let sign = factors >> 31;
                sums[column] += (magnitude ^ sign) - sign;
            }
        }
        let addends = addends(&significands, &exponents, &highest);
        for column in 0..COLUMNS {
            d[column] = truncated(sums[column], addends[column], highest[column]);
        }
    }
}

/// The elements of C, aligned to the largest exponent.
#[inline(always)]
pub(super) fn addends<const COLUMNS: usize>(
    significands: &[i32; COLUMNS],
    exponents: &[i32; COLUMNS],
    highest: &[i32; COLUMNS],
) -> [i32; COLUMNS] {
    let mut addends = [0i32; COLUMNS];
    for column in 0..COLUMNS {
        let below = (highest[column] - exponents[column]).min(31);
        let bits = significands[column].unsigned_abs() << (FRACTION_BITS - 23);
        let magnitude = (bits >> (below & 31)) as i32;
        let sign = significands[column] >> 31;
        addends[column] = (magnitude ^ sign) - sign;
    }
    addends
}

/// As [`super::to_f32`], of a sum that is given in two parts.
#[inline(always)]
pub(super) fn truncated(sum: i32, addend: i32, exponent: i32) -> u32 {
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
    } else if bits == 1 << 31 {
        0
    } else {
        bits
    }
}

//! Whether a product is right that nothing else can compute: Freivalds' check, C · x against
//! A · (B · x) for random vectors x, with the tolerances of [`warpladder::check`].

use super::matrix::HostMatrix;
use crate::error::ScaleError;
use rayon::prelude::*;
use warpladder::check::{
    self, Projection, Verdict, product_tolerance, projected_tolerance, tensor_tolerance,
};
use warpladder::element::Element;

/// Rows that a thread multiplies by a vector at a time.
const ROWS: usize = 256;

/// Checks C = A · B with `vectors` random vectors: 2 n k + 2 m k + 2 m n operations each, in f64.
///
/// A row of C that is wrong by much more than rounding goes unnoticed only where its error is
/// nearly orthogonal to all vectors. The tolerance is that for the largest |a| and |b|. A value
/// that is not finite fails the check.
///
/// # Errors
/// [`ScaleError::Shape`] where sizes do not match.
pub fn check<T: Element, O: Element>(
    a: HostMatrix<'_, T>,
    b: HostMatrix<'_, T>,
    c: HostMatrix<'_, O>,
    vectors: usize,
    seed: u64,
) -> Result<Verdict, ScaleError> {
    let ([m, k], [of_b, n]) = (a.extents(), b.extents());
    if of_b != k || c.extents() != [m, n] {
        let [rows, columns] = c.extents();
        return Err(ScaleError::Shape(format!(
            "{rows} x {columns} cannot be {m} x {k} times {of_b} x {n}"
        )));
    }
    let mut projections = Vec::new();
    let mut projected = Vec::new();
    for vector in 0..vectors.max(1) as u64 {
        let x = draw(n, seed.wrapping_add(vector));
        let expected = times(&a, &times(&b, &x));
        projected.push(times(&c, &x));
        projections.push(Projection { x, expected });
    }
    let scale = a.largest() * b.largest();
    let of_element = match T::UNIT_ROUNDOFF > f32::UNIT_ROUNDOFF {
        true => tensor_tolerance(k),
        false => product_tolerance::<T>(k),
    };
    let rounding = match O::UNIT_ROUNDOFF > f32::UNIT_ROUNDOFF {
        true => O::UNIT_ROUNDOFF * (n as f64 * k as f64).sqrt(),
        false => 0.0,
    };
    let tolerance = scale * (projected_tolerance(of_element, n, k) + rounding);
    Ok(check::projected_rows(&projected, &projections, tolerance))
}

/// A matrix times a vector.
fn times<T: Element>(matrix: &HostMatrix<'_, T>, x: &[f64]) -> Vec<f64> {
    let strides = matrix.strides();
    let mut product = vec![0.0; matrix.rows];
    if x.is_empty() {
        return product;
    }
    let rows = |(block, product): (usize, &mut [f64])| {
        let values = &matrix.values[block * ROWS * strides.row..];
        product.copy_from_slice(&check::project(values, strides, product.len(), x));
    };
    product.par_chunks_mut(ROWS).enumerate().for_each(rows);
    product
}

/// Numbers from [-1, 1), the same for a seed everywhere: the finaliser of SplitMix64 of a counter
/// (Steele et al., "Fast splittable pseudorandom number generators", 2014).
pub fn draw(count: usize, seed: u64) -> Vec<f64> {
    let start = seed.wrapping_mul(0xd134_2543_de82_ef95);
    let number = |index: usize| {
        let step = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut z = start.wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).into_par_iter().map(number).collect()
}

/// Fills a matrix with random numbers of [`draw`], on all processors: each block of elements has a
/// seed of its own.
pub fn fill<T: Element>(values: &mut [T], seed: u64) {
    const BLOCK: usize = 1 << 16;
    let of_block = |(block, values): (usize, &mut [T])| {
        let drawn = draw(values.len(), (block as u64) << 16 | seed);
        for (value, drawn) in values.iter_mut().zip(drawn) {
            *value = T::from_f64(drawn);
        }
    };
    values.par_chunks_mut(BLOCK).enumerate().for_each(of_block);
}

//! `layernorm_online`: mean and variance in one pass.
//!
//! # Idea
//! The mean of the squares less the square of the mean is the variance too, but for a row far from
//! 0 it is the small difference of two large numbers, of which rounding leaves nothing. Welford's
//! method keeps the mean of what has been seen, and the squares of the differences from that; when
//! the mean moves, the squares are corrected by how far. Two such triples combine in the same way:
//! a reduction. The row is read twice instead of three times.
//!
//! # Thread mapping
//! As `layernorm_three_pass`.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `layernorm_three_pass`: the first two passes became one.
//!
//! # Source
//! Beyond the sources. Welford, "Note on a method for calculating corrected sums of squares and
//! products", 1962; Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
//! computing sample variances", 1979 (how two combine).

use super::{BLOCK, Moments, NONE, WARPS, combine, normalise, reciprocal_deviation};
use crate::geometry::Geometry;
use crate::ladder::block::block_reduce;
use cuda_std::prelude::*;

/// 256 threads for a row.
pub const GEOMETRY: Geometry = super::layernorm_three_pass::GEOMETRY;

// ANCHOR: kernel
/// Each row, normalised.
///
/// # Safety
/// As for [`layernorm_three_pass`](super::layernorm_three_pass::layernorm_three_pass).
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn layernorm_online(
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    output: *mut f32,
    columns: u32,
) {
    let columns = columns as usize;
    let first = thread::block_idx_x() as usize * columns;
    let t = thread::thread_idx_x() as usize;
    // SAFETY: elements are inside of the block's row. All threads of the block are at the
    // reduction, and each element has one thread.
    unsafe {
        let mut of_thread = NONE;
        let mut j = t;
        while j < columns {
            of_thread = combine(of_thread, [1.0, *input.get_unchecked(first + j), 0.0]);
            j += BLOCK;
        }
        let [count, mean, squares] = block_reduce::<Moments, WARPS>(of_thread, NONE, combine);

        let of_row = [mean, reciprocal_deviation(squares / count)];
        let mut j = t;
        while j < columns {
            let x = *input.get_unchecked(first + j);
            let [weight, bias] = [weight, bias].map(|of| *of.get_unchecked(j));
            *output.add(first + j) = normalise(x, of_row, weight, bias);
            j += BLOCK;
        }
    }
}
// ANCHOR_END: kernel

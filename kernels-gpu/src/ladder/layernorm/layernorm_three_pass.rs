//! `layernorm_three_pass`: the definition, one block a row.
//!
//! # Idea
//! The variance is that of the differences from the mean, so the mean comes first: one pass for the
//! mean, one for the variance, one to normalise. What does not stay in a cache is read three times.
//!
//! # Thread mapping
//! Block i has row i. In each pass thread t takes elements t, t + 256, t + 512, …
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources. Ba, Kiros and Hinton, "Layer normalization", 2016.

use super::{BLOCK, WARPS, normalise, reciprocal_deviation};
use crate::geometry::Geometry;
use crate::ladder::block::block_reduce;
use cuda_std::prelude::*;

/// 256 threads for a row.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: 1,
};

// ANCHOR: kernel
/// Each row, normalised.
///
/// # Safety
/// `input` and `output` are row-major device arrays of rows of `columns` elements, `weight` and
/// `bias` of `columns` elements; `output` overlaps none of the others; there is a block of 256
/// threads for each row.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn layernorm_three_pass(
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    output: *mut f32,
    columns: u32,
) {
    let count = columns as f32;
    let columns = columns as usize;
    let first = thread::block_idx_x() as usize * columns;
    let t = thread::thread_idx_x() as usize;
    let add = |a: f32, b: f32| a + b;
    // SAFETY: elements are inside of the block's row. All threads of the block are at each
    // reduction, and each element has one thread.
    unsafe {
        let mut sum = 0.0;
        let mut j = t;
        while j < columns {
            sum += *input.get_unchecked(first + j);
            j += BLOCK;
        }
        let mean = block_reduce::<f32, WARPS>(sum, 0.0, add) / count;

        let mut squares = 0.0;
        let mut j = t;
        while j < columns {
            let difference = *input.get_unchecked(first + j) - mean;
            squares = GpuFloat::mul_add(difference, difference, squares);
            j += BLOCK;
        }
        let variance = block_reduce::<f32, WARPS>(squares, 0.0, add) / count;

        let of_row = [mean, reciprocal_deviation(variance)];
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

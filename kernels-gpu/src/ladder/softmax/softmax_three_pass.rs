//! `softmax_three_pass`: the definition, one block a row.
//!
//! # Idea
//! The formula needs the row three times: its maximum, then the sum of its exponentials, then each
//! element's own. The first two are reductions over the block. What does not stay in a cache is
//! read three times.
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
//! Beyond the sources. Goodfellow et al., "Deep Learning", 2016, section 4.1 (why the maximum is
//! subtracted).

use super::{BLOCK, LEAST, WARPS};
use crate::geometry::Geometry;
use crate::ladder::block::block_reduce;
use cuda_std::float::single::exp;
use cuda_std::prelude::*;

/// 256 threads for a row.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: 1,
};

// ANCHOR: kernel
/// The softmax of each row.
///
/// # Safety
/// `input` and `output` are row-major device arrays of rows of `columns` elements that do not
/// overlap; there is a block of 256 threads for each row.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn softmax_three_pass(input: &[f32], output: *mut f32, columns: u32) {
    let columns = columns as usize;
    let first = thread::block_idx_x() as usize * columns;
    let t = thread::thread_idx_x() as usize;
    // SAFETY: elements are inside of the block's row. All threads of the block are at each
    // reduction, and each element has one thread.
    unsafe {
        let mut max = LEAST;
        let mut j = t;
        while j < columns {
            max = max.max(*input.get_unchecked(first + j));
            j += BLOCK;
        }
        let max = block_reduce::<f32, WARPS>(max, LEAST, f32::max);

        let mut sum = 0.0;
        let mut j = t;
        while j < columns {
            sum += exp(*input.get_unchecked(first + j) - max);
            j += BLOCK;
        }
        let sum = block_reduce::<f32, WARPS>(sum, 0.0, |a, b| a + b);

        let mut j = t;
        while j < columns {
            *output.add(first + j) = exp(*input.get_unchecked(first + j) - max) / sum;
            j += BLOCK;
        }
    }
}
// ANCHOR_END: kernel

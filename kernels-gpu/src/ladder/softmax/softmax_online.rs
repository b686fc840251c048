//! `softmax_online`: maximum and sum in one pass.
//!
//! # Idea
//! The sum needs the maximum only as a common factor. So a thread keeps the sum of what it has seen
//! relative to the largest that it has seen, and scales it when a larger one comes. Two such pairs
//! combine in the same way, in any order: a reduction. The row is read twice instead of three
//! times, for an exponential more an element.
//!
//! # Thread mapping
//! As `softmax_three_pass`.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `softmax_three_pass`: the first two passes became one.
//!
//! # Source
//! Beyond the sources. Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.

use super::{BLOCK, MaxAndSum, NONE, WARPS, combine};
use crate::geometry::Geometry;
use crate::ladder::block::block_reduce;
use cuda_std::float::single::exp;
use cuda_std::prelude::*;

/// 256 threads for a row.
pub const GEOMETRY: Geometry = super::softmax_three_pass::GEOMETRY;

// ANCHOR: kernel
/// The softmax of each row.
///
/// # Safety
/// As for [`softmax_three_pass`](super::softmax_three_pass::softmax_three_pass).
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn softmax_online(input: &[f32], output: *mut f32, columns: u32) {
    let columns = columns as usize;
    let first = thread::block_idx_x() as usize * columns;
    let t = thread::thread_idx_x() as usize;
    // SAFETY: elements are inside of the block's row. All threads of the block are at the
    // reduction, and each element has one thread.
    unsafe {
        let mut of_thread = NONE;
        let mut j = t;
        while j < columns {
            of_thread = combine(of_thread, [*input.get_unchecked(first + j), 1.0]);
            j += BLOCK;
        }
        let [max, sum] = block_reduce::<MaxAndSum, WARPS>(of_thread, NONE, combine);

        let mut j = t;
        while j < columns {
            *output.add(first + j) = exp(*input.get_unchecked(first + j) - max) / sum;
            j += BLOCK;
        }
    }
}
// ANCHOR_END: kernel

//! `softmax_warp`: a warp for a row.
//!
//! # Idea
//! A row of some hundred elements leaves most of 256 threads one element or none, and all of them
//! wait at a barrier. A warp needs no barrier, and eight rows at a time are eight reductions that
//! do not wait for each other.
//!
//! # Thread mapping
//! Warp w of block b has row 8 b + w. Lane l takes elements l, l + 32, l + 64, …
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `softmax_online`: the threads of a row, and no shared memory.
//!
//! # Source
//! Beyond the sources.

use super::{BLOCK, NONE, WARPS, combine};
use crate::geometry::Geometry;
use crate::ladder::block::{WARP, warp_index};
use cuda_std::float::single::exp;
use cuda_std::prelude::*;

/// 256 threads for 8 rows.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: WARPS as u32,
};

// ANCHOR: kernel
/// The softmax of each row.
///
/// # Safety
/// `input` and `output` are row-major device arrays of rows of `columns` elements that do not
/// overlap; the grid and block are those of [`GEOMETRY`] for their rows.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn softmax_warp(input: &[f32], output: *mut f32, columns: u32) {
    let columns = columns as usize;
    let row = thread::block_idx_x() as usize * WARPS + warp_index();
    let first = row * columns;
    if first >= input.len() {
        return;
    }
    let lane = warp::lane_id() as usize;
    // SAFETY: elements are inside of the warp's row. All lanes are at the reduction, as they have
    // the same row, and each element has one thread.
    unsafe {
        let mut of_lane = NONE;
        let mut j = lane;
        while j < columns {
            of_lane = combine(of_lane, [*input.get_unchecked(first + j), 1.0]);
            j += WARP;
        }
        let [max, sum] = warp::warp_reduce_by(of_lane, combine);

        let mut j = lane;
        while j < columns {
            *output.add(first + j) = exp(*input.get_unchecked(first + j) - max) / sum;
            j += WARP;
        }
    }
}
// ANCHOR_END: kernel

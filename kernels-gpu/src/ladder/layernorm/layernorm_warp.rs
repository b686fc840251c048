//! `layernorm_warp`: a warp for a row.
//!
//! # Idea
//! As in `softmax_warp`: a warp needs neither a barrier nor shared memory, and eight rows at a time
//! are eight reductions that do not wait for each other.
//!
//! # Thread mapping
//! Warp w of block b has row 8 b + w. Lane l takes elements l, l + 32, l + 64, …
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `layernorm_online`: the threads of a row, and no shared memory.
//!
//! # Source
//! Beyond the sources.

use super::{BLOCK, NONE, WARPS, combine, normalise, reciprocal_deviation};
use crate::geometry::Geometry;
use crate::ladder::block::{WARP, warp_index};
use cuda_std::prelude::*;

/// 256 threads for 8 rows.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: WARPS as u32,
};

// ANCHOR: kernel
/// Each row, normalised.
///
/// # Safety
/// As for [`layernorm_three_pass`](super::layernorm_three_pass::layernorm_three_pass), with the
/// [`GEOMETRY`] here for the rows.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn layernorm_warp(
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    output: *mut f32,
    columns: u32,
) {
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
            of_lane = combine(of_lane, [1.0, *input.get_unchecked(first + j), 0.0]);
            j += WARP;
        }
        let [count, mean, squares] = warp::warp_reduce_by(of_lane, combine);

        let of_row = [mean, reciprocal_deviation(squares / count)];
        let mut j = lane;
        while j < columns {
            let x = *input.get_unchecked(first + j);
            let [weight, bias] = [weight, bias].map(|of| *of.get_unchecked(j));
            *output.add(first + j) = normalise(x, of_row, weight, bias);
            j += WARP;
        }
    }
}
// ANCHOR_END: kernel

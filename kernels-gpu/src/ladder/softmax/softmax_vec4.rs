//! `softmax_vec4`: a warp for a row, four elements at a time.
//!
//! # Idea
//! A vector of four has its own maximum, which costs three comparisons, and a sum of four
//! exponentials relative to that. It is combined with what the lane has seen once: six exponentials
//! for four elements instead of eight. The loads are 128 bits wide, so a lane has four times as
//! many bytes in flight.
//!
//! # Thread mapping
//! Warp w of block b has row 8 b + w. Lane l takes vectors l, l + 32, l + 64, … of four elements.
//!
//! # Preconditions
//! A row is a multiple of four elements, so that each row is aligned to 16 bytes.
//!
//! # What changed since the rung before
//! Against `softmax_warp`: the width of an access, and how often a sum is scaled.
//!
//! # Source
//! Beyond the sources.

use super::{BLOCK, NONE, WARPS, combine};
use crate::geometry::Geometry;
use crate::ladder::block::{VECTOR, WARP, warp_index};
use cuda_std::float::single::exp;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// 256 threads for 8 rows.
pub const GEOMETRY: Geometry = super::softmax_warp::GEOMETRY;

// ANCHOR: kernel
/// The softmax of each row.
///
/// # Safety
/// As for [`softmax_warp`](super::softmax_warp::softmax_warp); `columns` is a multiple of four, and
/// the arrays are aligned to 16 bytes.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn softmax_vec4(input: &[f32], output: *mut f32, columns: u32) {
    let columns = columns as usize;
    let row = thread::block_idx_x() as usize * WARPS + warp_index();
    let first = row * columns;
    if first >= input.len() {
        return;
    }
    let start = warp::lane_id() as usize * VECTOR;
    // SAFETY: vectors are inside of the warp's row and aligned. All lanes are at the reduction, as
    // they have the same row, and each element has one thread.
    unsafe {
        let mut of_lane = NONE;
        let mut j = start;
        while j < columns {
            let [a, b, c, d] = F32x4::load(input.as_ptr().add(first + j));
            let max = a.max(b).max(c.max(d));
            let sum = (exp(a - max) + exp(b - max)) + (exp(c - max) + exp(d - max));
            of_lane = combine(of_lane, [max, sum]);
            j += WARP * VECTOR;
        }
        let [max, sum] = warp::warp_reduce_by(of_lane, combine);

        let mut j = start;
        while j < columns {
            let elements = F32x4::load(input.as_ptr().add(first + j));
            let results = elements.map(|x| exp(x - max) / sum);
            F32x4::store(output.add(first + j), results);
            j += WARP * VECTOR;
        }
    }
}
// ANCHOR_END: kernel

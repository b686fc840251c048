//! `layernorm_vec4`: a warp for a row, four elements at a time.
//!
//! # Idea
//! Welford's method divides once for each element. The moments of a vector of four need no
//! division, since four is known, and the vector is combined with what the lane has seen at once:
//! one division for four elements. The loads and stores are 128 bits wide.
//!
//! # Thread mapping
//! Warp w of block b has row 8 b + w. Lane l takes vectors l, l + 32, l + 64, … of four elements.
//!
//! # Preconditions
//! A row is a multiple of four elements, so that each row is aligned to 16 bytes.
//!
//! # What changed since the rung before
//! Against `layernorm_warp`: the width of an access, and how often moments are combined.
//!
//! # Source
//! Beyond the sources.

use super::{BLOCK, Moments, NONE, WARPS, combine, normalise, reciprocal_deviation};
use crate::geometry::Geometry;
use crate::ladder::block::{VECTOR, WARP, warp_index};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// 256 threads for 8 rows.
pub const GEOMETRY: Geometry = super::layernorm_warp::GEOMETRY;

// ANCHOR: moments
/// The moments of four elements.
#[inline(always)]
fn moments([a, b, c, d]: [f32; VECTOR]) -> Moments {
    let mean = ((a + b) + (c + d)) / VECTOR as f32;
    let square = |x: f32| (x - mean) * (x - mean);
    let squares = (square(a) + square(b)) + (square(c) + square(d));
    [VECTOR as f32, mean, squares]
}
// ANCHOR_END: moments

// ANCHOR: kernel
/// Each row, normalised.
///
/// # Safety
/// As for [`layernorm_warp`](super::layernorm_warp::layernorm_warp); `columns` is a multiple of
/// four, and the arrays are aligned to 16 bytes.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn layernorm_vec4(
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
    let start = warp::lane_id() as usize * VECTOR;
    // SAFETY: vectors are inside of the warp's row and aligned. All lanes are at the reduction, as
    // they have the same row, and each element has one thread.
    unsafe {
        let mut of_lane = NONE;
        let mut j = start;
        while j < columns {
            let elements = F32x4::load(input.as_ptr().add(first + j));
            of_lane = combine(of_lane, moments(elements));
            j += WARP * VECTOR;
        }
        let [count, mean, squares] = warp::warp_reduce_by(of_lane, combine);

        let of_row = [mean, reciprocal_deviation(squares / count)];
        let mut j = start;
        while j < columns {
            let mut elements = F32x4::load(input.as_ptr().add(first + j));
            let [weight, bias] = [weight, bias].map(|of| F32x4::load(of.as_ptr().add(j)));
            for i in 0..VECTOR {
                elements[i] = normalise(elements[i], of_row, weight[i], bias[i]);
            }
            F32x4::store(output.add(first + j), elements);
            j += WARP * VECTOR;
        }
    }
}
// ANCHOR_END: kernel

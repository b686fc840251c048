//! `attention_naive`: three launches, with all scores in memory.
//!
//! # Idea
//! The formula as it stands: a product, a softmax, a product. The scores of each head are a matrix
//! of queries × keys. It is written, read and written by the softmax, and read again: at 4,096
//! queries and keys 64 MiB for each head, where Q, K, V and the output have 4.
//!
//! # Thread mapping
//! `attention_scores`: thread (x, y) of a block of 32 × 8 has key 32 bx + x and query 8 by + y.
//! `attention_softmax`: a warp for each query, as in `softmax_warp`. `attention_values`: thread
//! (x, y) of a block of 64 × 4 has element x of the head and query 4 bx + y. The head is the
//! grid's z, or, of the softmax, its y.
//!
//! # Preconditions
//! The width of Q, K, V and the output is a multiple of 64.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources. Vaswani et al., "Attention is all you need", 2017.

use super::{HEAD, SCALE};
use crate::geometry::Geometry;
use crate::ladder::block::{WARP, warp_index};
use cuda_std::float::single::exp;
use cuda_std::prelude::*;

/// Threads of a block of `attention_scores` in each direction.
const SCORES: [usize; 2] = [32, 8];

/// Threads of a block of `attention_softmax`.
const SOFTMAX: usize = 256;

/// Queries of a block of `attention_softmax`.
const SOFTMAX_QUERIES: usize = SOFTMAX / WARP;

/// Threads of a block of `attention_values` in each direction.
const VALUES: [usize; 2] = [HEAD, 4];

/// For queries × keys.
pub const SCORES_GEOMETRY: Geometry = Geometry::tiles(SCORES, SCORES).along_rows();

/// For as many queries as a one-dimensional output has elements.
pub const SOFTMAX_GEOMETRY: Geometry = Geometry::Linear {
    block: SOFTMAX as u32,
    elements: SOFTMAX_QUERIES as u32,
};

/// For queries × 64.
pub const VALUES_GEOMETRY: Geometry = Geometry::tiles(VALUES, VALUES).along_rows();

/// The scores of the head that is the grid's `head`.
#[inline(always)]
fn of_head(head: u32, queries: usize, keys: usize) -> usize {
    head as usize * queries * keys
}

// ANCHOR: scores
/// `scores = Q · Kᵀ / √d` for each head.
///
/// # Safety
/// `q` and `k` are row-major device arrays of `queries` and `keys` rows of `width` elements;
/// `scores` has `queries` × `keys` elements for each of `width` / 64 heads, which are the grid's z;
/// the rest of the grid and the block are those of [`SCORES_GEOMETRY`].
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn attention_scores(
    q: &[f32],
    k: &[f32],
    scores: *mut f32,
    queries: u32,
    width: u32,
    keys: u32,
) {
    let (queries, width, keys) = (queries as usize, width as usize, keys as usize);
    let head = thread::block_idx_z();
    let query = thread::block_idx_x() as usize * SCORES[1] + thread::thread_idx_y() as usize;
    let key = thread::block_idx_y() as usize * SCORES[0] + thread::thread_idx_x() as usize;
    if query >= queries || key >= keys {
        return;
    }
    let first = head as usize * HEAD;
    let mut sum = 0.0;
    for i in 0..HEAD {
        // SAFETY: rows and columns are inside of the matrices.
        let (q, k) = unsafe {
            (
                *q.get_unchecked(query * width + first + i),
                *k.get_unchecked(key * width + first + i),
            )
        };
        sum = GpuFloat::mul_add(q, k, sum);
    }
    // SAFETY: inside of the head's scores, and no other thread has this one.
    unsafe { *scores.add(of_head(head, queries, keys) + query * keys + key) = sum * SCALE };
}
// ANCHOR_END: scores

/// The softmax of each row of scores, in place.
///
/// # Safety
/// `scores` is as for [`attention_scores`]; heads are the grid's y; the rest of the grid and the
/// block are those of [`SOFTMAX_GEOMETRY`].
#[kernel(max_threads = SOFTMAX as u32, min_blocks = 1)]
pub unsafe fn attention_softmax(scores: *mut f32, queries: u32, keys: u32) {
    let (queries, keys) = (queries as usize, keys as usize);
    let query = thread::block_idx_x() as usize * SOFTMAX_QUERIES + warp_index();
    if query >= queries {
        return;
    }
    let lane = warp::lane_id() as usize;
    // SAFETY: elements are inside of the warp's row, and each has one lane. All lanes are at each
    // reduction, as they have the same row.
    unsafe {
        let row = scores.add(of_head(thread::block_idx_y(), queries, keys) + query * keys);
        let mut max = f32::MIN;
        let mut j = lane;
        while j < keys {
            max = max.max(*row.add(j));
            j += WARP;
        }
        let max = warp::warp_reduce_by(max, f32::max);
        let mut sum = 0.0;
        let mut j = lane;
        while j < keys {
            let exponential = exp(*row.add(j) - max);
            *row.add(j) = exponential;
            sum += exponential;
            j += WARP;
        }
        let sum = warp::warp_reduce_by(sum, |a, b| a + b);
        let mut j = lane;
        while j < keys {
            *row.add(j) /= sum;
            j += WARP;
        }
    }
}

// ANCHOR: values
/// `output = scores · V` for each head.
///
/// # Safety
/// `scores` is as for [`attention_scores`], of which it is the softmax; `v` and `output` are
/// row-major device arrays of `keys` and `queries` rows of `width` elements; heads are the grid's
/// z; the rest of the grid and the block are those of [`VALUES_GEOMETRY`].
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn attention_values(
    scores: *const f32,
    v: &[f32],
    output: *mut f32,
    queries: u32,
    width: u32,
    keys: u32,
) {
    let (queries, width, keys) = (queries as usize, width as usize, keys as usize);
    let head = thread::block_idx_z();
    let query = thread::block_idx_x() as usize * VALUES[1] + thread::thread_idx_y() as usize;
    if query >= queries {
        return;
    }
    let column = head as usize * HEAD + thread::thread_idx_x() as usize;
    // SAFETY: rows and columns are inside of the matrices, and no other thread has the output.
    unsafe {
        let row = scores.add(of_head(head, queries, keys) + query * keys);
        let mut sum = 0.0;
        for key in 0..keys {
            sum = GpuFloat::mul_add(*row.add(key), *v.get_unchecked(key * width + column), sum);
        }
        *output.add(query * width + column) = sum;
    }
}
// ANCHOR_END: values

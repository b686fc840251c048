//! `attention_online`: one launch, and no score in memory.
//!
//! # Idea
//! The softmax along the keys is a sum that can be computed online: of the keys seen so far, keep
//! the largest score, the sum of the exponentials less that score, and the sum of the values
//! weighted by them. When a larger score comes, both sums are scaled. After the last key the one is
//! divided by the other. So a query needs no more memory than its accumulators, however many keys
//! there are, and K and V pass by in tiles.
//!
//! # Thread mapping
//! A block of 64 threads has 64 queries of a head. Thread t keeps the row of its query and its
//! accumulators in registers, 64 each. Tiles of 32 keys lie in shared memory; all threads read the
//! same word of them at a time, which is one access. Scores are made for four keys at a time, so
//! that sums are scaled once for four.
//!
//! # Preconditions
//! The width of Q, K, V and the output is a multiple of 64; the arrays are aligned to 16 bytes
//! (every allocation is).
//!
//! # What changed since the rung before
//! Against `attention_naive`: the scores stay in registers, and K and V are read once for 64
//! queries.
//!
//! # Source
//! Beyond the sources. Dao et al., "FlashAttention: fast and memory-efficient exact attention with
//! IO-awareness", 2022; Rabe and Staats, "Self-attention does not need O(n²) memory", 2021.

use super::{HEAD, SCALE};
use crate::geometry::Geometry;
use crate::ladder::block::VECTOR;
use cuda_std::float::single::exp;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Threads of a block, and its queries.
const QUERIES: usize = 64;

/// Keys of a tile.
const KEYS: usize = 32;

/// Keys whose scores are made before the sums are scaled.
const BATCH: usize = 4;

/// Vectors of a row of a head, and of a tile that a thread loads.
const ROW_VECTORS: usize = HEAD / VECTOR;
const THREAD_VECTORS: usize = KEYS * ROW_VECTORS / QUERIES;

const _: () = assert!(KEYS.is_multiple_of(BATCH));
const _: () = assert!((KEYS * ROW_VECTORS).is_multiple_of(QUERIES));

/// 64 threads for 64 queries of a head.
pub const GEOMETRY: Geometry = Geometry::tiles([QUERIES, 1], [HEAD, QUERIES]).along_rows();

/// The state of a query, as the keys pass by.
struct Row {
    /// The query, times 1 / √d.
    query: [f32; HEAD],
    /// The values, weighted.
    accumulators: [f32; HEAD],
    /// The largest score, and the sum of the weights.
    max: f32,
    sum: f32,
}

impl Row {
    // ANCHOR: group
    /// Takes the keys of a group, of which the first `count` are there.
    ///
    /// # Safety
    /// `k` and `v` are the rows of the group in shared memory, complete.
    #[inline(always)]
    unsafe fn take(&mut self, k: *const f32, v: *const f32, count: usize) {
        let mut scores = [0.0; BATCH];
        let mut max = self.max;
        for j in 0..BATCH {
            for i in 0..ROW_VECTORS {
                // SAFETY: inside of the group's rows.
                let key = unsafe { F32x4::load(k.add(j * HEAD + i * VECTOR)) };
                for e in 0..VECTOR {
                    let query = self.query[i * VECTOR + e];
                    scores[j] = GpuFloat::mul_add(query, key[e], scores[j]);
                }
            }
            if j < count {
                max = max.max(scores[j]);
            }
        }
        let scale = exp(self.max - max);
        self.max = max;
        self.sum *= scale;
        for i in 0..HEAD {
            self.accumulators[i] *= scale;
        }
        for j in 0..BATCH {
            let weight = if j < count { exp(scores[j] - max) } else { 0.0 };
            self.sum += weight;
            for i in 0..ROW_VECTORS {
                // SAFETY: inside of the group's rows.
                let value = unsafe { F32x4::load(v.add(j * HEAD + i * VECTOR)) };
                for e in 0..VECTOR {
                    let accumulator = &mut self.accumulators[i * VECTOR + e];
                    *accumulator = GpuFloat::mul_add(weight, value[e], *accumulator);
                }
            }
        }
    }
    // ANCHOR_END: group
}

/// Four elements of row `row` of a head; zeros where there is no such row.
///
/// # Safety
/// `matrix` has `rows` rows of `width` elements, and is aligned to 16 bytes, as is `column`.
#[inline(always)]
unsafe fn load(
    matrix: &[f32],
    [rows, width]: [usize; 2],
    row: usize,
    column: usize,
) -> [f32; VECTOR] {
    if row < rows {
        // SAFETY: the test, and the contract.
        unsafe { F32x4::load(matrix.as_ptr().add(row * width + column)) }
    } else {
        [0.0; VECTOR]
    }
}

// ANCHOR: kernel
/// Attention of each head.
///
/// # Safety
/// `q`, `k`, `v` and `output` are row-major device arrays of rows of `width` elements, `queries` of
/// them in `q` and `output` and `keys` in `k` and `v`, that are aligned to 16 bytes; `output`
/// overlaps none of the others; the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = QUERIES as u32, min_blocks = 1)]
pub unsafe fn attention_online(
    q: &[f32],
    k: &[f32],
    v: &[f32],
    output: *mut f32,
    queries: u32,
    width: u32,
    keys: u32,
) {
    let tile_k = shared_array![f32; KEYS * HEAD];
    let tile_v = shared_array![f32; KEYS * HEAD];
    let (queries, width, keys) = (queries as usize, width as usize, keys as usize);
    let t = thread::thread_idx_x() as usize;
    let query = thread::block_idx_x() as usize * QUERIES + t;
    let head = thread::block_idx_y() as usize * HEAD;
    // SAFETY: rows are inside of the matrices by the tests. Tiles are complete after the first
    // barrier of a round, and overwritten after the second. No other thread has the output's row.
    unsafe {
        let mut row = Row {
            query: [0.0; HEAD],
            accumulators: [0.0; HEAD],
            max: f32::MIN,
            sum: 0.0,
        };
        for i in 0..ROW_VECTORS {
            let elements = load(q, [queries, width], query, head + i * VECTOR);
            for e in 0..VECTOR {
                row.query[i * VECTOR + e] = elements[e] * SCALE;
            }
        }
        let mut first = 0;
        while first < keys {
            for i in 0..THREAD_VECTORS {
                let number = t + i * QUERIES;
                let (key, column) = (number / ROW_VECTORS, number % ROW_VECTORS * VECTOR);
                let of_k = load(k, [keys, width], first + key, head + column);
                let of_v = load(v, [keys, width], first + key, head + column);
                F32x4::store(tile_k.add(number * VECTOR), of_k);
                F32x4::store(tile_v.add(number * VECTOR), of_v);
            }
            thread::sync_threads();
            let left = keys - first;
            let mut group = 0;
            while group < KEYS && group < left {
                let at = group * HEAD;
                row.take(tile_k.add(at), tile_v.add(at), left - group);
                group += BATCH;
            }
            thread::sync_threads();
            first += KEYS;
        }
        if query < queries {
            // Of no key at all the weighted sum is 0, and not 0 / 0.
            let reciprocal = if row.sum > 0.0 { 1.0 / row.sum } else { 0.0 };
            for i in 0..ROW_VECTORS {
                let mut elements = [0.0; VECTOR];
                for e in 0..VECTOR {
                    elements[e] = row.accumulators[i * VECTOR + e] * reciprocal;
                }
                F32x4::store(output.add(query * width + head + i * VECTOR), elements);
            }
        }
    }
}
// ANCHOR_END: kernel

//! `attention_mma_f16`, `attention_mma_bf16`: both products by MMA.
//!
//! # Idea
//! A warp keeps the rows of 16 queries as fragments. Its scores for a tile of keys are accumulators
//! of `mma.sync`, which the softmax needs row by row: four lanes share a row, so two shuffles find
//! its maximum. The weights are then the A operand of the second product without leaving their
//! registers: two accumulator tiles of 16 × 8, rounded to 16 bits, are laid out as one A fragment
//! of 16 × 16. K and V come by asynchronous copies, the next tile while this one is used.
//!
//! # Thread mapping
//! A block of four warps has 64 queries of a head, warp w those from 16 w on. Tiles are 64 keys.
//! Lane l has rows l / 4 and l / 4 + 8 of its warp's queries.
//!
//! # Preconditions
//! The width of Q, K, V and the output is a multiple of 64; the arrays are aligned to 16 bytes
//! (every allocation is).
//!
//! # What changed since the rung before
//! Against `attention_online`: another unit does the arithmetic, elements have 16 bits, with sums
//! in f32, and copies are asynchronous.
//!
//! # Source
//! Beyond the sources. Dao, "FlashAttention-2: faster attention with better parallelism and work
//! partitioning", 2023; PTX ISA, "mma.sync", "ldmatrix", "cp.async".

use super::row::of_row;
use super::{HEAD, SCALE};
use crate::geometry::Geometry;
use core::marker::PhantomData;
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::float::single::exp2;
use cuda_std::float16::{PackX2, bf16, f16};
use cuda_std::matrix;
use cuda_std::mma::{Bf16, F16, Input};
use cuda_std::prelude::*;

/// Queries of a warp and of a block.
const WARP_QUERIES: usize = 16;
const WARPS: usize = 4;
const QUERIES: usize = WARPS * WARP_QUERIES;

/// Threads of a block.
const THREADS: usize = 32 * WARPS;

/// Keys of a tile.
const KEYS: usize = 64;

/// Bytes of an element, of a vector, the unit of copies, and of a row of a tile.
const ELEMENT_BYTES: usize = 2;
const VECTOR_BYTES: usize = 16;
const ROW_BYTES: usize = HEAD * ELEMENT_BYTES;

/// Elements of a vector, vectors of a row, and vectors of a tile that a thread copies.
const VECTOR: usize = VECTOR_BYTES / ELEMENT_BYTES;
const ROW_VECTORS: usize = ROW_BYTES / VECTOR_BYTES;
const THREAD_VECTORS: usize = KEYS * ROW_VECTORS / THREADS;

/// Bytes of a tile of K or V, and of a stage of both.
const TILE_BYTES: usize = KEYS * ROW_BYTES;
const STAGE_BYTES: usize = 2 * TILE_BYTES;

/// Stages: one is used, the other is in flight.
const STAGES: usize = 2;

/// Columns and k of an MMA.
const MMA_N: usize = 8;
const MMA_K: usize = 16;

/// Scores as powers of 2: 1 / √d times log2 e.
const LOG2_SCALE: f32 = SCALE * core::f32::consts::LOG2_E;

const _: () = assert!((KEYS * ROW_VECTORS).is_multiple_of(THREADS));
// Fragments are loaded for two MMAs at a time; the swizzle permutes eight vectors.
const _: () = assert!(KEYS.is_multiple_of(2 * MMA_N) && HEAD.is_multiple_of(2 * MMA_N));
const _: () = assert!(ROW_VECTORS == 8 && QUERIES == KEYS);

/// 128 threads for 64 queries of a head; 32 KiB of shared memory.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [HEAD, QUERIES]).along_rows();

/// A type of elements: what the MMA takes, and how two are packed.
trait Element: Input {
    /// What packs and rounds them.
    type Pack: PackX2;
}

impl Element for F16 {
    type Pack = f16;
}

impl Element for Bf16 {
    type Pack = bf16;
}

/// The offset of an element in a tile, in bytes: vectors of a row are XORed with the row (a
/// *swizzle*), so that eight rows of one vector lie in all banks.
#[inline(always)]
fn offset(row: usize, column: usize) -> u32 {
    let vector = (column / VECTOR) ^ (row % ROW_VECTORS);
    (row * ROW_BYTES + vector * VECTOR_BYTES) as u32
}

/// The kernel's parameters, and what the block has of them.
struct Params<E: Element> {
    k: *const u16,
    v: *const u16,
    keys: usize,
    width: usize,
    /// First column of the head.
    head: usize,
    element: PhantomData<E>,
}

/// Starts the copies of this thread's vectors of a tile of rows from `first` on. Rows behind the
/// last are zeros.
///
/// # Safety
/// `matrix` has `rows` rows of `width` elements and is aligned to 16 bytes, as is the head's first
/// column. No thread accesses the tile.
#[inline(always)]
unsafe fn start_copies(
    tile: SharedAddress,
    matrix: *const u16,
    [rows, width]: [usize; 2],
    first: usize,
    head: usize,
) {
    let t = thread::thread_idx_x() as usize;
    for i in 0..THREAD_VECTORS {
        let number = t + i * THREADS;
        let (row, column) = (number / ROW_VECTORS, number % ROW_VECTORS * VECTOR);
        let from = matrix.wrapping_add((first + row) * width + head + column);
        // SAFETY: what is inside of the rows is inside of the matrix; others are not read.
        unsafe {
            let to = tile.at(offset(row, column));
            async_copy::copy_16_or_zero(to, from, first + row < rows);
        }
    }
}

impl<E: Element> Params<E> {
    /// Starts the copies of a stage: K and V of the tile of keys from `first` on.
    ///
    /// # Safety
    /// No thread accesses the stage.
    #[inline(always)]
    unsafe fn start_stage(&self, stage: SharedAddress, first: usize) {
        let size = [self.keys, self.width];
        // SAFETY: the contract, and that of the kernel.
        unsafe {
            start_copies(stage, self.k, size, first, self.head);
            start_copies(stage.at(TILE_BYTES as u32), self.v, size, first, self.head);
        }
    }
}

/// The state of a warp: its queries, and of each of a lane's two rows the sums along the keys.
struct Rows {
    /// A fragments of the queries, for each k-block along the head.
    queries: [[u32; 4]; HEAD / MMA_K],
    /// The values, weighted.
    accumulators: [[f32; 4]; HEAD / MMA_N],
    /// The largest score, as a power of 2, and the lane's part of the sum of the weights.
    max: [f32; 2],
    sum: [f32; 2],
}

/// The scores of a warp's queries for a tile of keys.
type Scores = [[f32; 4]; KEYS / MMA_N];

impl Rows {
    // ANCHOR: scores
    /// The scores for a tile.
    ///
    /// # Safety
    /// The tile of K is complete. The whole warp is here.
    #[inline(always)]
    unsafe fn scores<E: Element>(&self, tile: SharedAddress) -> Scores {
        let lane = warp::lane_id() as usize;
        let mut scores = [[0.0; 4]; KEYS / MMA_N];
        for pair in 0..KEYS / MMA_N / 2 {
            for block in 0..HEAD / MMA_K {
                // Keys are columns of B, which is K-major in memory: two matrices beside each other
                // are a fragment, then two of the next eight keys.
                let key = 2 * pair * MMA_N + lane / 16 * MMA_N + lane % 8;
                let column = block * MMA_K + lane / 8 % 2 * VECTOR;
                // SAFETY: inside of the tile, which is complete; the whole warp is here.
                unsafe {
                    let [a, b, c, d] = matrix::load_4(tile.at(offset(key, column)));
                    E::mma(&mut scores[2 * pair], &self.queries[block], [a, b]);
                    E::mma(&mut scores[2 * pair + 1], &self.queries[block], [c, d]);
                }
            }
        }
        scores
    }
    // ANCHOR_END: scores

    // ANCHOR: softmax
    /// Turns the scores of a tile, of which the first `count` keys are there, into weights, and
    /// scales what has been summed up to the new maximum: of the first (0) or the second (1) of a
    /// lane's rows. It is a constant, so that accumulators stay in registers.
    ///
    /// # Safety
    /// The whole warp is here.
    #[inline(always)]
    unsafe fn weigh<const HALF: usize>(&mut self, scores: &mut Scores, count: usize) {
        let lane = warp::lane_id() as usize;
        let mut max = self.max[HALF];
        for tile in 0..KEYS / MMA_N {
            for i in 0..2 {
                let score = &mut scores[tile][2 * HALF + i];
                let key = tile * MMA_N + lane % 4 * 2 + i;
                *score = if key < count {
                    *score * LOG2_SCALE
                } else {
                    f32::NEG_INFINITY
                };
                max = max.max(*score);
            }
        }
        // SAFETY: the whole warp is here.
        let max = unsafe { of_row(max, f32::max) };
        let scale = exp2(self.max[HALF] - max);
        self.max[HALF] = max;
        self.sum[HALF] *= scale;
        for tile in 0..HEAD / MMA_N {
            self.accumulators[tile][2 * HALF] *= scale;
            self.accumulators[tile][2 * HALF + 1] *= scale;
        }
        for tile in 0..KEYS / MMA_N {
            for i in 0..2 {
                let weight = exp2(scores[tile][2 * HALF + i] - max);
                scores[tile][2 * HALF + i] = weight;
                self.sum[HALF] += weight;
            }
        }
    }
    // ANCHOR_END: softmax

    // ANCHOR: values
    /// Adds the values of a tile, weighted.
    ///
    /// # Safety
    /// The tile of V is complete. The whole warp is here.
    #[inline(always)]
    unsafe fn add_values<E: Element>(&mut self, weights: &Scores, tile: SharedAddress) {
        let lane = warp::lane_id() as usize;
        for block in 0..KEYS / MMA_K {
            // Two accumulator tiles of 16 × 8 are an A fragment of 16 × 16.
            let [left, right] = [weights[2 * block], weights[2 * block + 1]];
            let a = [
                E::Pack::pack_x2(left[0], left[1]),
                E::Pack::pack_x2(left[2], left[3]),
                E::Pack::pack_x2(right[0], right[1]),
                E::Pack::pack_x2(right[2], right[3]),
            ];
            for pair in 0..HEAD / MMA_N / 2 {
                let key = block * MMA_K + lane % 16;
                let column = 2 * pair * MMA_N + lane / 16 * MMA_N;
                // SAFETY: inside of the tile, which is complete; the whole warp is here.
                unsafe {
                    let [b, c, d, e] = matrix::load_4_transposed(tile.at(offset(key, column)));
                    E::mma(&mut self.accumulators[2 * pair], &a, [b, c]);
                    E::mma(&mut self.accumulators[2 * pair + 1], &a, [d, e]);
                }
            }
        }
    }
    // ANCHOR_END: values

    /// Stores the first (0) or the second (1) of a lane's rows of a warp whose rows begin at
    /// `first`.
    ///
    /// # Safety
    /// `output` has `queries` rows of `width` elements, and is aligned to 4 bytes, as is `head`.
    /// The whole warp is here, and no other has the rows.
    #[inline(always)]
    unsafe fn store<E: Element, const HALF: usize>(
        &self,
        output: *mut u16,
        [queries, width]: [usize; 2],
        first: usize,
        head: usize,
    ) {
        let lane = warp::lane_id() as usize;
        // SAFETY: the whole warp is here.
        let sum = unsafe { of_row(self.sum[HALF], |a, b| a + b) };
        let row = first + lane / 4 + 8 * HALF;
        if row >= queries {
            return;
        }
        // Of no key at all the weighted sum is 0, and not 0 / 0.
        let reciprocal = if sum > 0.0 { 1.0 / sum } else { 0.0 };
        for tile in 0..HEAD / MMA_N {
            let [a, b] = [0, 1].map(|i| self.accumulators[tile][2 * HALF + i] * reciprocal);
            let to = row * width + head + tile * MMA_N + lane % 4 * 2;
            // SAFETY: inside of the output, at an even element, and no other lane has it.
            unsafe { *output.add(to).cast::<u32>() = E::Pack::pack_x2(a, b) };
        }
    }
}

// ANCHOR: body
#[inline(always)]
unsafe fn body<E: Element>(
    q: &[u16],
    [k, v]: [&[u16]; 2],
    output: *mut u16,
    [queries, width, keys]: [usize; 3],
) {
    let stages = SharedAddress::of(shared_array![u8; STAGES * STAGE_BYTES]);
    let lane = warp::lane_id() as usize;
    let first_query = thread::block_idx_x() as usize * QUERIES;
    let warp_query = thread::thread_idx_x() as usize / 32 * WARP_QUERIES;
    let params = Params::<E> {
        k: k.as_ptr(),
        v: v.as_ptr(),
        keys,
        width,
        head: thread::block_idx_y() as usize * HEAD,
        element: PhantomData,
    };
    let mut rows = Rows {
        queries: [[0; 4]; HEAD / MMA_K],
        accumulators: [[0.0; 4]; HEAD / MMA_N],
        max: [f32::MIN; 2],
        sum: [0.0; 2],
    };
    // SAFETY: a stage is filled only after a barrier that comes after its last use, and used only
    // after its copies were waited for by the threads that made them, and a barrier. The queries
    // pass through the second stage before that is filled.
    unsafe {
        let of_queries = stages.at(STAGE_BYTES as u32);
        start_copies(
            of_queries,
            q.as_ptr(),
            [queries, width],
            first_query,
            params.head,
        );
        async_copy::commit_group();
        params.start_stage(stages, 0);
        async_copy::commit_group();
        async_copy::wait_group::<1>();
        thread::sync_threads();
        for block in 0..HEAD / MMA_K {
            let column = block * MMA_K + lane / 16 * VECTOR;
            let at = offset(warp_query + lane % 16, column);
            rows.queries[block] = matrix::load_4(of_queries.at(at));
        }
        let (mut first, mut stage) = (0, 0);
        while first < keys {
            async_copy::wait_group::<0>();
            thread::sync_threads();
            let other = STAGE_BYTES as u32 - stage;
            if first + KEYS < keys {
                params.start_stage(stages.at(other), first + KEYS);
            }
            async_copy::commit_group();
            let tile = stages.at(stage);
            let mut scores = rows.scores::<E>(tile);
            rows.weigh::<0>(&mut scores, keys - first);
            rows.weigh::<1>(&mut scores, keys - first);
            rows.add_values::<E>(&scores, tile.at(TILE_BYTES as u32));
            (first, stage) = (first + KEYS, other);
        }
        let size = [queries, width];
        rows.store::<E, 0>(output, size, first_query + warp_query, params.head);
        rows.store::<E, 1>(output, size, first_query + warp_query, params.head);
    }
}
// ANCHOR_END: body

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident, $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `q`, `k`, `v` and `output` are row-major device arrays of rows of `width` elements,
            /// given as their bits, `queries` of them in `q` and `output` and `keys` in `k` and
            /// `v`, that are aligned to 16 bytes; `output` overlaps none of the others; the grid
            /// and block are those of [`GEOMETRY`].
            #[cuda_std::kernel(max_threads = 128, min_blocks = 1)]
            pub unsafe fn $name(
                q: &[u16],
                k: &[u16],
                v: &[u16],
                output: *mut u16,
                queries: u32,
                width: u32,
                keys: u32,
            ) {
                let size = [queries, width, keys].map(|extent| extent as usize);
                // SAFETY: the body's contract is this kernel's.
                unsafe { body::<$element>(q, [k, v], output, size) }
            }
        )*
    };
}

kernels! {
    /// Elements are IEEE binary16.
    attention_mma_f16, F16;
    /// Elements are bfloat16.
    attention_mma_bf16, Bf16;
}

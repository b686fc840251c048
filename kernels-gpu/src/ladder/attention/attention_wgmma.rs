//! `attention_wgmma_bf16`, `attention_wgmma_bf16_causal`: both products by warpgroup MMA.
//!
//! # Idea
//! A producer warp fills stages of shared memory with tiles of K and V by TMA. Two consumer
//! warpgroups have 64 queries each. The scores of a tile of keys are accumulators of `wgmma`. Their
//! weights, rounded to 16 bits, are the A operand of the second product in registers (RS).
//!
//! Tensor cores and the softmax run at the same time: a warpgroup starts the scores of the next
//! tile before the weighted values of this one, and computes the softmax of the next tile while
//! the values are still in flight.
//!
//! With a causal mask, query i sees keys 0 to i. Tiles behind the diagonal are left out. Tiles are
//! taken from the last to the first, so that only the first one taken has to be masked.
//!
//! # Thread mapping
//! A block of three warpgroups has 128 queries of a head: the first warpgroup produces, the others
//! have 64 queries each, warp w of a warpgroup those from 16 w on. Lane l has rows l / 4 and
//! l / 4 + 8 of its warp's queries. Tiles are 128 keys. Blocks of a causal mask with more keys come
//! first.
//!
//! # Preconditions
//! Heads are 128 elements: the width of Q, K, V and the output is a multiple of 128.
//!
//! # What changed since the rung before
//! Against `attention_mma`: another instruction for both products, TMA in place of `cp.async`, a
//! warp that only loads, products and softmax side by side, and `ex2.approx` in place of an
//! exponential that is exact to the last bits.
//!
//! # Source
//! Beyond the sources. Shah and others, "FlashAttention-3: fast and accurate attention with
//! asynchrony and low-precision", 2024; PTX ISA, "wgmma.mma_async", "cp.async.bulk.tensor".

use super::row::of_row;
use crate::gemm::pipeline::tma::{ConsumerStage, Pipeline, Stages};
use crate::gemm::wgmma::stage::{self, MMA_K_BYTES, ROW_BYTES, WARPGROUP, WM};
use crate::geometry::Geometry;
use cuda_std::async_copy::SharedAddress;
use cuda_std::float::fast::exp2_ftz;
use cuda_std::float16::{PackX2, bf16};
use cuda_std::mbarrier::Barrier;
use cuda_std::mma::Bf16;
use cuda_std::prelude::*;
use cuda_std::tma::{self, TensorMap};
use cuda_std::wgmma::{self, Accumulator, Descriptor, FragmentA, K_MAJOR, MN_MAJOR};

/// Elements of a head: d.
pub const HEAD: usize = 128;

/// 1 / √d.
pub const SCALE: f32 = 0.088_388_346;

// Within two roundings of 1.
const _: () = assert!((HEAD as f32 * SCALE * SCALE - 1.0).abs() < 2.0 * f32::EPSILON);

/// Scores as powers of 2: 1 / √d times log2 e.
const LOG2_SCALE: f32 = SCALE * core::f32::consts::LOG2_E;

/// Consumer warpgroups, and the queries of a block: 128.
const CONSUMERS: usize = 2;
const QUERIES: usize = CONSUMERS * WM;

/// Threads of a block: 384.
const THREADS: usize = (1 + CONSUMERS) * WARPGROUP;

/// Keys of a tile: the columns of the scores.
pub const KEYS: usize = Scores::COLUMNS;

/// Rows of a box of Q, K and V, and its columns: 64 elements are 128 bytes, a row of the swizzle.
pub const BOX_ROWS: usize = KEYS;
/// See [`BOX_ROWS`].
pub const BOX_COLUMNS: usize = ROW_BYTES / ELEMENT_BYTES;

/// Bytes of an element, of a box, and of a tile, which is the boxes of a head beside each other.
const ELEMENT_BYTES: usize = 2;
const BOX_BYTES: usize = BOX_ROWS * ROW_BYTES;
const BOXES: usize = HEAD / BOX_COLUMNS;
const TILE_BYTES: usize = BOXES * BOX_BYTES;

/// Elements along k of an MMA, and MMAs along a row of a box.
const MMA_K: usize = MMA_K_BYTES / ELEMENT_BYTES;
const BOX_MMAS: usize = ROW_BYTES / MMA_K_BYTES;

/// Registers of a thread of the producer warpgroup, and of one of a consumer warpgroup. The launch
/// gives each 168.
const PRODUCER_REGISTERS: u32 = 40;
/// See [`PRODUCER_REGISTERS`].
const CONSUMER_REGISTERS: u32 = 232;

/// A thread's part of the scores of 64 queries for a tile, and of their weighted values.
type Scores = [f32; 64];
type Output = [f32; 64];

// The same boxes serve queries, keys and values; a tile of keys ends where a block's queries do.
const _: () = assert!(QUERIES == KEYS && Output::COLUMNS == HEAD);
const _: () =
    assert!((PRODUCER_REGISTERS + CONSUMERS as u32 * CONSUMER_REGISTERS) * 128 <= 64 * 1024);

/// The stages: two tiles of K and two of V.
struct Tiles;

impl Stages for Tiles {
    const COUNT: usize = 4;
    const BYTES: usize = TILE_BYTES;
}

/// Dynamic shared memory: the queries, the stages with their barriers, and the barrier of the
/// queries. 163,912 bytes.
pub const SHARED_BYTES: usize = TILE_BYTES + Tiles::TOTAL_BYTES + Barrier::BYTES as usize;

/// 384 threads for 128 queries of a head.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [HEAD, QUERIES]).along_rows();

/// The tensor maps of Q, K and V, in this order, in global memory: row-major matrices of bfloat16,
/// with boxes of [`BOX_COLUMNS`] × [`BOX_ROWS`] elements, swizzled by 128 bytes.
#[repr(C)]
pub struct Maps {
    q: TensorMap,
    k: TensorMap,
    v: TensorMap,
}

/// The block's part of the problem, and its shared memory.
struct Block<const CAUSAL: bool> {
    base: SharedAddress,
    /// First query, and first column of the head.
    first_query: usize,
    head: usize,
    queries: usize,
    width: usize,
    keys: usize,
}

impl<const CAUSAL: bool> Block<CAUSAL> {
    #[inline(always)]
    fn new([queries, width, keys]: [usize; 3]) -> Self {
        let block = match CAUSAL {
            true => thread::grid_dim_x() - 1 - thread::block_idx_x(),
            false => thread::block_idx_x(),
        };
        Block {
            base: stage::stages(),
            first_query: block as usize * QUERIES,
            head: thread::block_idx_y() as usize * HEAD,
            queries,
            width,
            keys,
        }
    }

    /// Tiles of keys that the queries see. Without a key it is one, which is masked.
    #[inline(always)]
    fn tiles(&self) -> usize {
        let seen = match CAUSAL {
            true => self.keys.min(self.first_query + QUERIES),
            false => self.keys,
        };
        seen.div_ceil(KEYS).max(1)
    }

    /// The stages behind the queries.
    #[inline(always)]
    fn pipeline(&self) -> Pipeline<Tiles> {
        Pipeline::new(self.base.at(TILE_BYTES as u32))
    }

    /// What counts the bytes of the queries.
    #[inline(always)]
    fn queries_full(&self) -> Barrier {
        Barrier::new(self.base.at((TILE_BYTES + Tiles::TOTAL_BYTES) as u32))
    }

    /// Starts the copies of the head's columns of 128 rows. Rows behind the last are zeros.
    ///
    /// # Safety
    /// One thread executes it. The map is as [`Maps`] says, the tile is empty, and the barrier is
    /// initialised and expects one arrival.
    #[inline(always)]
    unsafe fn load(&self, to: SharedAddress, map: *const TensorMap, first: usize, full: Barrier) {
        // SAFETY: the contract.
        unsafe {
            full.arrive_expect_tx(TILE_BYTES as u32);
            for half in 0..BOXES {
                let to = to.at((half * BOX_BYTES) as u32);
                let column = (self.head + half * BOX_COLUMNS) as u32;
                tma::load_3d(to, map, [column, first as u32, 0], full);
            }
        }
    }

    // ANCHOR: produce
    /// The producer: the queries, then tiles of K, each followed by the tile of V of the keys
    /// before it in the loop, from the last tile to the first.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`consume`](Self::consume).
    /// The maps are as [`Maps`] says.
    #[inline(always)]
    unsafe fn produce(&self, maps: *const Maps) {
        let mut pipeline = self.pipeline();
        // A matrix without rows has a map of one, behind which zeros are loaded.
        let first = |tile: usize| tile * KEYS + usize::from(self.keys == 0) * KEYS;
        // SAFETY: the contract; a stage is empty once it is acquired.
        unsafe {
            let mut load = |map: *const TensorMap, tile: usize| {
                pipeline.producer_acquire();
                self.load(pipeline.stage(), map, first(tile), pipeline.full());
                pipeline.advance();
            };
            let [q, k, v] = [
                &raw const (*maps).q,
                &raw const (*maps).k,
                &raw const (*maps).v,
            ];
            self.load(self.base, q, self.first_query, self.queries_full());
            let mut tile = self.tiles() - 1;
            load(k, tile);
            while tile > 0 {
                load(k, tile - 1);
                load(v, tile);
                tile -= 1;
            }
            load(v, 0);
        }
    }
    // ANCHOR_END: produce

    // ANCHOR: consume
    /// A consumer warpgroup: the output of its 64 queries.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`produce`](Self::produce). `output` has `queries` rows of `width` elements.
    #[inline(always)]
    unsafe fn consume(&self, warpgroup: usize, output: *mut u16) {
        let mut pipeline = self.pipeline();
        let first_row = warpgroup * WM;
        let queries = Descriptor::k_major(self.base.at((first_row * ROW_BYTES) as u32));
        let mut rows = Rows {
            output: Output::ZERO,
            max: [f32::MIN; 2],
            sum: [0.0; 2],
        };
        // SAFETY: a stage is read when it is full, and released when its MMAs are complete: those
        // of the scores when all groups but the one of the values are.
        unsafe {
            self.queries_full().try_wait_loop(0);
            let mut tile = self.tiles() - 1;
            let (mut scores, keys) = next_scores(&mut pipeline, queries);
            scores.wait_all();
            keys.release();
            self.mask(&mut scores, self.first_query + first_row, tile * KEYS);
            rows.weigh(&mut scores);
            while tile > 0 {
                let weights = pack(&scores);
                let (mut next, keys) = next_scores(&mut pipeline, queries);
                let values = rows.add_values(&weights, &mut pipeline);
                next.wait_but::<1>();
                keys.release();
                let scale = rows.weigh(&mut next);
                rows.output.wait_all();
                values.release();
                rows.rescale(scale);
                scores = next;
                tile -= 1;
            }
            rows.add_values(&pack(&scores), &mut pipeline);
            rows.output.wait_all();
            let first = self.first_query + first_row;
            rows.store::<0>(output, [self.queries, self.width], first, self.head);
            rows.store::<1>(output, [self.queries, self.width], first, self.head);
        }
    }
    // ANCHOR_END: consume

    // ANCHOR: mask
    /// Masks the scores of keys behind the last and, with a causal mask, of those behind the query.
    /// The rows of the warpgroup begin at `first_row`, the tile's keys at `first_key`.
    #[inline(always)]
    fn mask(&self, scores: &mut Scores, first_row: usize, first_key: usize) {
        let is_whole = first_key + KEYS <= self.keys;
        if is_whole && !CAUSAL {
            return;
        }
        let (lane, warp) = (warp::lane_id() as usize, warp_of_warpgroup());
        for i in 0..Scores::COLUMNS / 2 {
            let row = first_row + 16 * warp + lane / 4 + 8 * (i / 2 % 2);
            let key = first_key + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
            let is_seen = key < self.keys && (!CAUSAL || key <= row);
            scores[i] = if is_seen {
                scores[i]
            } else {
                f32::NEG_INFINITY
            };
        }
    }
    // ANCHOR_END: mask
}

/// The warp of this thread in its warpgroup.
#[inline(always)]
fn warp_of_warpgroup() -> usize {
    thread::thread_idx_x() as usize / 32 % 4
}

/// Starts the scores of the queries for the keys of the pipeline's stage, and advances: they are in
/// flight, and the stage is to be released when they are complete.
///
/// # Safety
/// All 128 threads of the warpgroup execute it together. The producer loads keys to the stage.
#[inline(always)]
unsafe fn next_scores(
    pipeline: &mut Pipeline<Tiles>,
    queries: Descriptor,
) -> (Scores, ConsumerStage<Tiles>) {
    // SAFETY: the stage is full once it has been waited for; `fence` comes before the first MMA.
    unsafe {
        pipeline.consumer_wait();
        let keys = Descriptor::k_major(pipeline.stage());
        let at = |k_block: usize| {
            let bytes = k_block / BOX_MMAS * BOX_BYTES + k_block % BOX_MMAS * MMA_K_BYTES;
            (queries.at(bytes as u32), keys.at(bytes as u32))
        };
        wgmma::fence();
        let (q, k) = at(0);
        let mut scores = Scores::mma::<Bf16, K_MAJOR, K_MAJOR>(q, k);
        for k_block in 1..HEAD / MMA_K {
            let (q, k) = at(k_block);
            scores.mma_add::<Bf16, K_MAJOR, K_MAJOR>(q, k);
        }
        wgmma::commit_group();
        let reading = pipeline.current();
        pipeline.advance();
        (scores, reading)
    }
}

/// The weights of a tile as A operands: two blocks of eight columns of accumulators are laid out as
/// a fragment of sixteen.
#[inline(always)]
fn pack(weights: &Scores) -> [FragmentA; KEYS / MMA_K] {
    let mut fragments = [[0; 4]; KEYS / MMA_K];
    for block in 0..KEYS / MMA_K {
        for i in 0..4 {
            let at = 8 * block + 2 * i;
            fragments[block][i] = bf16::pack_x2(weights[at], weights[at + 1]);
        }
    }
    fragments
}

/// What a thread has of its warpgroup's queries: of each of its two rows, the largest score and its
/// part of the sum of the weights, and its part of the weighted values.
struct Rows {
    output: Output,
    max: [f32; 2],
    sum: [f32; 2],
}

impl Rows {
    // ANCHOR: weigh
    /// Turns scores into weights. Returns by what the sums of before are to be scaled, of each row.
    ///
    /// # Safety
    /// The whole warp is here.
    #[inline(always)]
    unsafe fn weigh(&mut self, scores: &mut Scores) -> [f32; 2] {
        // SAFETY: the contract.
        unsafe { [self.weigh_row::<0>(scores), self.weigh_row::<1>(scores)] }
    }

    /// Of the first (0) or the second (1) of a thread's rows. It is a constant, so that scores stay
    /// in registers.
    ///
    /// # Safety
    /// The whole warp is here.
    #[inline(always)]
    unsafe fn weigh_row<const ROW: usize>(&mut self, scores: &mut Scores) -> f32 {
        let mut max = self.max[ROW];
        for block in 0..KEYS / 8 {
            let at = 4 * block + 2 * ROW;
            max = max.max(scores[at]).max(scores[at + 1]);
        }
        // SAFETY: the whole warp is here.
        let max = unsafe { of_row(max, f32::max) };
        let scale = exp2_ftz((self.max[ROW] - max) * LOG2_SCALE);
        let shift = -max * LOG2_SCALE;
        let mut sum = self.sum[ROW] * scale;
        for block in 0..KEYS / 8 {
            for i in 0..2 {
                let score = &mut scores[4 * block + 2 * ROW + i];
                *score = exp2_ftz(score.mul_add(LOG2_SCALE, shift));
                sum += *score;
            }
        }
        (self.max[ROW], self.sum[ROW]) = (max, sum);
        scale
    }
    // ANCHOR_END: weigh

    /// Starts to add the values of the pipeline's stage, weighted, and advances: they are in
    /// flight, and the stage is to be released when they are complete.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The producer loads values to the
    /// stage. Nothing touches the output before it is waited for.
    #[inline(always)]
    unsafe fn add_values(
        &mut self,
        weights: &[FragmentA; KEYS / MMA_K],
        pipeline: &mut Pipeline<Tiles>,
    ) -> ConsumerStage<Tiles> {
        // SAFETY: the stage is full once it has been waited for; `fence` comes before the first
        // MMA, behind the weights.
        unsafe {
            pipeline.consumer_wait();
            let values = Descriptor::mn_major(pipeline.stage(), BOX_BYTES as u32);
            wgmma::fence();
            for block in 0..KEYS / MMA_K {
                let values = values.at((block * MMA_K * ROW_BYTES) as u32);
                (self.output).mma_rs_add::<Bf16, MN_MAJOR>(weights[block], values);
            }
            wgmma::commit_group();
            let reading = pipeline.current();
            pipeline.advance();
            reading
        }
    }

    /// Scales the weighted values of each row.
    #[inline(always)]
    fn rescale(&mut self, scale: [f32; 2]) {
        for i in 0..Output::COLUMNS / 2 {
            self.output[i] *= scale[i / 2 % 2];
        }
    }

    /// Stores the first (0) or the second (1) of a thread's rows of a warpgroup whose rows begin at
    /// `first`.
    ///
    /// # Safety
    /// `output` has `queries` rows of `width` elements, and is aligned to 4 bytes, as is `head`.
    /// The whole warp is here, and no other has the rows.
    #[inline(always)]
    unsafe fn store<const ROW: usize>(
        &self,
        output: *mut u16,
        [queries, width]: [usize; 2],
        first: usize,
        head: usize,
    ) {
        let lane = warp::lane_id() as usize;
        // SAFETY: the whole warp is here.
        let sum = unsafe { of_row(self.sum[ROW], |a, b| a + b) };
        let row = first + 16 * warp_of_warpgroup() + lane / 4 + 8 * ROW;
        if row >= queries {
            return;
        }
        // Of no key at all the weighted sum is 0, and not 0 / 0.
        let reciprocal = if sum > 0.0 { 1.0 / sum } else { 0.0 };
        for block in 0..HEAD / 8 {
            let at = 4 * block + 2 * ROW;
            let [a, b] = [0, 1].map(|i| self.output[at + i] * reciprocal);
            let to = row * width + head + 8 * block + 2 * (lane % 4);
            // SAFETY: inside of the output, at an even element, and no other lane has it.
            unsafe { *output.add(to).cast::<u32>() = bf16::pack_x2(a, b) };
        }
    }
}

// ANCHOR: body
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<const CAUSAL: bool>(maps: *const Maps, output: *mut u16, size: [usize; 3]) {
    let block = Block::<CAUSAL>::new(size);
    // SAFETY: `warp` is the same in a warp, and whole warpgroups take the same branch.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Pipeline::<Tiles>::init(
                block.base.at(TILE_BYTES as u32),
                (CONSUMERS * WARPGROUP / 32) as u32,
            );
            block.queries_full().init(1);
            tma::fence_barrier_init();
        }
        thread::sync_threads();
        if warp < 4 {
            wgmma::setmaxnreg_dec::<PRODUCER_REGISTERS>();
            if warp == 0 && tma::elect_sync() {
                block.produce(maps);
            }
        } else {
            wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            block.consume(warp as usize / 4 - 1, output);
        }
    }
}
// ANCHOR_END: body

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident, $causal:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The maps are those of Q, of `queries` rows, and of K and V, of `keys` rows, of
            /// `width` elements each, as [`Maps`] says; `output` is a row-major device array of
            /// `queries` rows of `width` elements, given as their bits, aligned to 4 bytes; the
            /// grid and block are those of [`GEOMETRY`], with [`SHARED_BYTES`] of dynamic shared
            /// memory.
            #[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
            pub unsafe fn $name(
                maps: *const Maps,
                output: *mut u16,
                queries: u32,
                width: u32,
                keys: u32,
            ) {
                let size = [queries, width, keys].map(|extent| extent as usize);
                // SAFETY: the body's contract is this kernel's.
                unsafe { body::<$causal>(maps, output, size) }
            }
        )*
    };
}

kernels! {
    /// Every query sees every key.
    attention_wgmma_bf16, false;
    /// Query i sees keys 0 to i.
    attention_wgmma_bf16_causal, true;
}

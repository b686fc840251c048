//! `wgmma_bf16_specialised`, `wgmma_bf16_persistent`: a producer warp, two consumer warpgroups,
//! persistent blocks.
//!
//! # Idea
//! In `wgmma_bf16_single` the same threads start copies and MMAs, and all wait for each other at
//! every k-tile. Warp specialisation gives each role threads of its own. The producer, one thread,
//! prefetches as far ahead as there are stages. The consumers are two warpgroups. Each of their
//! warps arrives at the stage's empty barrier when it has read the stage, and no consumer waits for
//! another one. This is `wgmma_bf16_specialised`, with a block for each tile.
//!
//! `wgmma_bf16_persistent` is the same kernel with only as many blocks as multiprocessors, each of
//! which computes one tile after another. While the consumers store a tile, the stages of the next
//! one are already in flight. The tile scheduler rasterises C in groups of rows, so that tiles that
//! run at the same time share rows of A and columns of B in the cache.
//!
//! # Thread mapping
//! 384 threads: warpgroup 0 is the producer, with one thread of it; warpgroups 1 and 2 are the
//! consumers and own 64 rows each of a block tile of 128 × 256. The producer warpgroup releases
//! registers, which the consumers request.
//!
//! # Preconditions
//! As for `wgmma_bf16_single`.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_single`: roles, persistent blocks, twice the rows to each column of B.
//!
//! # Source
//! Beyond the sources. The scheme is CUTLASS's "warp-specialised persistent cooperative" kernel.

use crate::gemm::epilogue::output_elements;
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::persistent::TileGrid;
use crate::gemm::wgmma::boxes::Boxes;
use crate::gemm::wgmma::stage::{self, Operands, StageCoord, TensorMaps, WARPGROUP, WM};
use cuda_std::mma::Bf16;
use cuda_std::prelude::*;
use cuda_std::tma;
use cuda_std::wgmma::{self, Accumulator, Input, K_MAJOR, MN_MAJOR};

/// Consumer warpgroups.
pub const CONSUMERS: usize = 2;

/// Consumer warps: 8.
pub const CONSUMER_WARPS: u32 = (CONSUMERS * WARPGROUP / 32) as u32;

/// Threads of a block: 384.
pub const THREADS: usize = (1 + CONSUMERS) * WARPGROUP;

/// The block tile: 128 × 256 elements of C. Its rows are also those of a box of A.
pub const BM: usize = CONSUMERS * WM;

/// The TMA boxes of a k-tile: one of A, which is K-major, and four of B, of 64 columns each.
pub const BOXES: [Boxes; 2] = [
    Boxes::whole(BM, Bf16::BYTES, true),
    Boxes::whole(BN, Bf16::BYTES, false),
];

/// Registers of a thread of the producer warpgroup and of one of a consumer warpgroup. The launch
/// gives each 168.
pub const PRODUCER_REGISTERS: u32 = 40;
/// See [`PRODUCER_REGISTERS`].
pub const CONSUMER_REGISTERS: u32 = 232;

/// The accumulators of a thread: 64 × 256 elements of C by 128 threads.
type Accumulators = [f32; 128];

/// See [`BM`].
pub const BN: usize = Accumulators::COLUMNS;

/// Elements along k of a stage, the k-tile: 64.
const BK: usize = stage::block_k(Bf16::BYTES);

/// As many stages as fit into shared memory.
struct Four;

impl Stages for Four {
    const COUNT: usize = 4;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, BN);
}

/// Dynamic shared memory.
pub const SHARED_BYTES: usize = Four::TOTAL_BYTES;

/// The kernel's parameters, the tile scheduler and the number of k-tiles.
struct Params {
    maps: *const TensorMaps,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    tiles: TileGrid,
    /// Stages that one tile passes: the k-tiles of A and B.
    k_tiles: u32,
}

impl Params {
    // ANCHOR: produce
    /// The producer: copies the k-tiles of all tiles of this block.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`consume`](Self::consume).
    #[inline(always)]
    unsafe fn produce(&self, mut pipeline: Pipeline<Four>) {
        let load = stage::load::<Bf16, CONSUMERS, K_MAJOR, MN_MAJOR>;
        let mut tile = thread::block_idx_x();
        while tile < self.tiles.count() {
            let tile_offset = self.tiles.coord(tile);
            for k_tile in 0..self.k_tiles {
                let at = StageCoord {
                    top: tile_offset.row,
                    left: tile_offset.column,
                    boxes: BOXES,
                    start: stage::k_offset(self.k, BK, k_tile),
                    matrices: [0; 2],
                    slices: None,
                };
                // SAFETY: the stage is empty when all consumer warps have arrived at its empty
                // barrier.
                unsafe {
                    pipeline.producer_acquire();
                    load(pipeline.stage(), self.maps, at, pipeline.full());
                }
                pipeline.advance();
            }
            tile += thread::grid_dim_x();
        }
    }
    // ANCHOR_END: produce

    // ANCHOR: consume
    /// A consumer warpgroup: computes and stores its rows of all tiles of this block.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`produce`](Self::produce).
    #[inline(always)]
    unsafe fn consume(&self, mut pipeline: Pipeline<Four>, warpgroup: usize) {
        let operands = |pipeline: &Pipeline<Four>| {
            Operands::<K_MAJOR, MN_MAJOR>::new(pipeline.stage(), CONSUMERS, warpgroup)
        };
        let mut tile = thread::block_idx_x();
        while tile < self.tiles.count() {
            // SAFETY: a stage is read when it is full, and released when its MMAs are complete: one
            // k-tile later, so that there are always MMAs in flight.
            unsafe {
                pipeline.consumer_wait();
                let mut accumulators: Accumulators = operands(&pipeline).mma::<Bf16, _>();
                let mut reading = pipeline.current();
                pipeline.advance();
                for _ in 1..self.k_tiles {
                    pipeline.consumer_wait();
                    operands(&pipeline).mma_add::<Bf16, _>(&mut accumulators);
                    wgmma::wait_group::<1>();
                    reading.release();
                    reading = pipeline.current();
                    pipeline.advance();
                }
                accumulators.wait_all();
                reading.release();
                let tile_offset = self.tiles.coord(tile);
                let size = [self.m as usize, self.n as usize];
                let top = tile_offset.row as usize + warpgroup * WM;
                output_elements::store_vec2s(
                    &accumulators,
                    self.c,
                    size,
                    top,
                    tile_offset.column as usize,
                );
            }
            tile += thread::grid_dim_x();
        }
    }
    // ANCHOR_END: consume
}

// ANCHOR: kernel
/// Inputs are bfloat16.
///
/// # Safety
/// The maps are those of row-major matrices A of m × k and B of k × n elements, as [`TensorMaps`]
/// says, with boxes of [`BM`] rows; `c` is a row-major array of m × n elements; blocks have
/// [`THREADS`] threads and [`SHARED_BYTES`] of dynamic shared memory, in a grid of any number of
/// them.
#[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
pub unsafe fn wgmma_bf16_persistent(maps: *const TensorMaps, c: *mut f32, m: u32, n: u32, k: u32) {
    let base = stage::stages();
    let params = Params {
        maps,
        c,
        m,
        n,
        k,
        tiles: TileGrid::new([m, n], [BM as u32, BN as u32], 1),
        k_tiles: stage::k_tiles(k, BK),
    };
    // SAFETY: all lanes of a warp shuffle. `warp` is the same in a warp, and `warp < 4` in a
    // warpgroup.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Pipeline::<Four>::init(base, CONSUMER_WARPS);
            tma::fence_barrier_init();
        }
        thread::sync_threads();
        if warp < 4 {
            wgmma::setmaxnreg_dec::<PRODUCER_REGISTERS>();
            if warp == 0 && tma::elect_sync() {
                params.produce(Pipeline::new(base));
            }
        } else {
            wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            params.consume(Pipeline::new(base), warp as usize / 4 - 1);
        }
    }
}
// ANCHOR_END: kernel

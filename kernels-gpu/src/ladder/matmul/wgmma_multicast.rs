//! `wgmma_bf16_multicast`: two blocks load B once.
//!
//! # Idea
//! Two blocks that compute tiles below each other need the same columns of B. In
//! `wgmma_bf16_tma_store` each loads them for itself from the L2 cache. Here the two are a 2-CTA
//! cluster. Each block loads its own rows of A and half of each k-tile of B, by TMA multicast: the
//! load writes to the shared memory of both blocks and counts at the full barriers of both.
//!
//! A block then loads 128 + 128 rows and columns of a k-tile in place of 128 + 256. The price is
//! that the blocks go in step: a stage is empty when the consumer warps of both have released it.
//!
//! # Thread mapping
//! As for `wgmma_bf16_persistent`. Blocks 2i and 2i + 1 are a cluster; they compute neighbouring
//! tiles of a column of tiles. Where m has an odd number of tiles, the last one is outside of C.
//!
//! # Preconditions
//! As for `wgmma_bf16_single`.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_tma_store`: clusters. The producer loads half of B for two blocks, consumer
//! warps release a stage at two empty barriers, and no block exits before the other is done with
//! its shared memory.
//!
//! # Source
//! Beyond the sources. PTX ISA, "cp.async.bulk.tensor", `.multicast::cluster`.

use super::wgmma_persistent::{CONSUMER_REGISTERS, PRODUCER_REGISTERS};
use super::wgmma_tma_store::{
    Accumulators, BK, BM, BN, BOXES, CONSUMER_WARPS, CONSUMERS, EPILOGUE_BYTES, EPILOGUE_TILES,
    Source,
};
use crate::gemm::GemmParams;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::epilogue::tma_store::{self, TmaEpilogue};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::scheduler::persistent::{TileCoord, TileGrid};
use crate::gemm::wgmma::multicast::{self, BlockInCluster};
use crate::gemm::wgmma::source::OperandSource;
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps, WM};
use cuda_std::cluster;
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma;

/// Blocks of a cluster.
pub const CLUSTER_SIZE: u32 = 2;

/// They lie below each other.
const CLUSTER_SHAPE: ClusterShape = ClusterShape::new([CLUSTER_SIZE, 1]);

/// Rows of a box of B: half of a k-tile.
pub const B_BOX_ROWS: u32 = multicast::box_rows(BK as u32, CLUSTER_SIZE);

/// Four stages, which the producers of both blocks fill.
struct Four;

impl Stages for Four {
    const COUNT: usize = 4;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, BN);
    const MULTICAST: bool = true;
}

/// Dynamic shared memory.
pub const SHARED_BYTES: usize = EPILOGUE_BYTES + Four::TOTAL_BYTES;

/// The tiles of C: an even number of rows of them.
#[inline(always)]
pub fn tiles(m: u32, n: u32) -> TileGrid {
    TileGrid::new([m, n], [BM as u32, BN as u32], 1).for_clusters(CLUSTER_SHAPE)
}

/// The kernel's parameters, the tile scheduler and the number of k-tiles.
struct Params {
    maps: *const TensorMaps,
    c: *mut f32,
    gemm: GemmParams<f32>,
    tiles: TileGrid,
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
        let slices = BlockInCluster::this(CLUSTER_SHAPE).slices([BM as u32, BK as u32]);
        let mut tile = thread::block_idx_x();
        while tile < self.tiles.count() {
            let coord = self.tiles.coord(tile);
            for k_tile in 0..self.k_tiles {
                let at = StageCoord {
                    top: coord.row,
                    left: coord.column,
                    boxes: BOXES,
                    start: stage::k_offset(self.gemm.k, BK, k_tile),
                    matrices: [0; 2],
                    slices: Some(slices),
                };
                // SAFETY: the stage is empty, in both blocks, when the consumer warps of both have
                // released it. `load` starts half of the loads of B, for both.
                unsafe {
                    pipeline.producer_acquire();
                    Source::load::<Accumulators, _, CONSUMERS>(&pipeline, self.maps, at);
                }
                pipeline.advance();
            }
            tile += thread::grid_dim_x();
        }
        // SAFETY: this is the producer. Until then the other block may write to this one's shared
        // memory, so this one may not exit.
        unsafe { pipeline.producer_tail() };
    }
    // ANCHOR_END: produce

    /// A consumer warpgroup: computes its rows of all tiles of this block, and stores them through
    /// `boxes`, its epilogue tiles.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`produce`](Self::produce).
    #[inline(always)]
    unsafe fn consume(&self, mut pipeline: Pipeline<Four>, warpgroup: usize, boxes: *mut u8) {
        let epilogue = TmaEpilogue {
            op: LinearCombination::new(&self.gemm),
            elements: OutputElements {
                c: self.c,
                params: &self.gemm,
                transposed: false,
            },
            tma_store: 1,
            maps: self.maps,
            boxes,
            columns: BN as u32,
            narrowest: BN as u32,
            barrier: 1 + warpgroup as u32,
            // β is 0.
            source_barriers: core::ptr::null_mut(),
        };
        let mut tile = thread::block_idx_x();
        while tile < self.tiles.count() {
            let coord = self.tiles.coord(tile);
            let row = coord.row + (warpgroup * WM) as u32;
            // SAFETY: the whole warpgroup executes both. The producer loads this tile's k-tiles.
            unsafe {
                let accumulators: Accumulators =
                    Source::mma::<_, _, CONSUMERS>(&mut pipeline, self.k_tiles, warpgroup);
                epilogue.store(&accumulators, TileCoord { row, ..coord }, 0..EPILOGUE_TILES);
            }
            tile += thread::grid_dim_x();
        }
        // Shared memory may go when TMA has read it.
        tma::wait_group::<0>();
    }
}

/// Inputs are bfloat16.
///
/// # Safety
/// As for [`wgmma_bf16_persistent`](super::wgmma_persistent::wgmma_bf16_persistent), with
/// [`SHARED_BYTES`] here and an even number of blocks, in clusters of [`CLUSTER_SIZE`]. B's map has
/// boxes of [`B_BOX_ROWS`] rows, and C's of 64 rows of 32 elements.
#[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
pub unsafe fn wgmma_bf16_multicast(maps: *const TensorMaps, c: *mut f32, m: u32, n: u32, k: u32) {
    let base = stage::stages().at(EPILOGUE_BYTES as u32);
    let params = Params {
        maps,
        c,
        gemm: GemmParams::dense([m, n, k], [false; 2]),
        tiles: tiles(m, n),
        k_tiles: stage::k_tiles(k, BK),
    };
    // SAFETY: all lanes of a warp shuffle. `warp` is the same in a warp, and `warp < 4` in a
    // warpgroup.
    unsafe {
        // The compiler then knows that a warp is of one role.
        let warp = warp::warp_shuffle_idx(warp::FULL_MASK, thread::thread_idx_x() / 32, 0, 32).0;
        if thread::thread_idx_x() == 0 {
            Pipeline::<Four>::init(base, CLUSTER_SIZE * CONSUMER_WARPS);
            tma::fence_barrier_init();
        }
        // The other block's loads arrive at these barriers. `fence_barrier_init` publishes them.
        cluster::arrive_relaxed();
        cluster::wait();
        if warp < 4 {
            wgmma::setmaxnreg_dec::<PRODUCER_REGISTERS>();
            if warp == 0 && tma::elect_sync() {
                params.produce(Pipeline::new(base));
            }
        } else {
            wgmma::setmaxnreg_inc::<CONSUMER_REGISTERS>();
            let warpgroup = warp as usize / 4 - 1;
            let boxes = shared::dynamic_shared_mem::<u8>();
            let boxes = boxes.wrapping_add(warpgroup * tma_store::BYTES);
            // The producers of both blocks fill the stages of each.
            let producers = BlockInCluster::this(CLUSTER_SHAPE).producers();
            let pipeline = Pipeline::new(base).with_producers(producers);
            params.consume(pipeline, warpgroup, boxes);
        }
    }
}

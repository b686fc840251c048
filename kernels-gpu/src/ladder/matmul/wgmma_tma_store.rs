//! `wgmma_bf16_tma_store`: C goes through shared memory, by TMA.
//!
//! # Idea
//! In `wgmma_bf16_persistent` each thread stores its accumulators to C, a vec2 at a time: a warp's
//! store touches eight rows. Here the threads write an epilogue tile of 64 × 32 elements to shared
//! memory, swizzled, and one thread starts a TMA store of it. TMA writes whole rows of the box.
//!
//! The store is asynchronous. A warpgroup has two epilogue tiles in shared memory and alternates
//! between them, so it waits only for the store before the last one to have *read* shared memory.
//! It starts its next tile of C while the last stores are in flight.
//!
//! # Thread mapping
//! As for `wgmma_bf16_persistent`. One elected thread of each consumer warpgroup stores.
//!
//! # Preconditions
//! As for `wgmma_bf16_single`. n is a multiple of 8, so TMA can store every C.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_persistent`: the epilogue, and 32 KiB of shared memory for it.
//!
//! # Source
//! Beyond the sources. PTX ISA, "cp.async.bulk.tensor", "fence.proxy.async".

use super::wgmma_persistent::{CONSUMER_REGISTERS, PRODUCER_REGISTERS};
use crate::gemm::GemmParams;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::epilogue::tma_store::{self, TmaEpilogue};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::persistent::{TileCoord, TileGrid};
use crate::gemm::wgmma::source::{OperandSource, SS};
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps, WM};
use cuda_std::mma::Bf16;
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma::{self, K_MAJOR, MN_MAJOR};

pub use super::wgmma_persistent::{BM, BN, BOXES, CONSUMER_WARPS, CONSUMERS, THREADS};

/// The accumulators of a thread: 64 × 256 elements of C by 128 threads.
pub type Accumulators = [f32; 128];

/// Row-major A and B, both in shared memory.
pub type Source = SS<Bf16, K_MAJOR, MN_MAJOR>;

/// Elements along k of a stage, the k-tile: 64.
pub const BK: usize = stage::block_k(Source::BYTES);

/// Epilogue tiles of a warpgroup's 64 × 256 elements.
pub const EPILOGUE_TILES: u32 = (BN / tma_store::box_columns(size_of::<f32>())) as u32;

/// Bytes of the epilogue tiles in shared memory, which come before the stages.
pub const EPILOGUE_BYTES: usize = CONSUMERS * tma_store::BYTES;

/// The four stages still fit beside the epilogue tiles.
struct Four;

impl Stages for Four {
    const COUNT: usize = 4;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, BN);
}

/// Dynamic shared memory.
pub const SHARED_BYTES: usize = EPILOGUE_BYTES + Four::TOTAL_BYTES;

/// The kernel's parameters, the tile scheduler and the number of k-tiles.
struct Params {
    maps: *const TensorMaps,
    c: *mut f32,
    gemm: GemmParams<f32>,
    tiles: TileGrid,
    k_tiles: u32,
}

impl Params {
    /// The producer: copies the k-tiles of all tiles of this block.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`consume`](Self::consume).
    #[inline(always)]
    unsafe fn produce(&self, mut pipeline: Pipeline<Four>) {
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
                    slices: None,
                };
                // SAFETY: the stage is empty when all consumer warps have released it.
                unsafe {
                    pipeline.producer_acquire();
                    Source::load::<Accumulators, _, CONSUMERS>(&pipeline, self.maps, at);
                }
                pipeline.advance();
            }
            tile += thread::grid_dim_x();
        }
    }

    // ANCHOR: consume
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
    // ANCHOR_END: consume
}

/// Inputs are bfloat16.
///
/// # Safety
/// As for [`wgmma_bf16_persistent`](super::wgmma_persistent::wgmma_bf16_persistent), with
/// [`SHARED_BYTES`] here. C's map has boxes of 64 rows of 32 elements.
#[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
pub unsafe fn wgmma_bf16_tma_store(maps: *const TensorMaps, c: *mut f32, m: u32, n: u32, k: u32) {
    let base = stage::stages().at(EPILOGUE_BYTES as u32);
    let params = Params {
        maps,
        c,
        gemm: GemmParams::dense([m, n, k], [false; 2]),
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
            let warpgroup = warp as usize / 4 - 1;
            let boxes = shared::dynamic_shared_mem::<u8>();
            let boxes = boxes.wrapping_add(warpgroup * tma_store::BYTES);
            params.consume(Pipeline::new(base), warpgroup, boxes);
        }
    }
}

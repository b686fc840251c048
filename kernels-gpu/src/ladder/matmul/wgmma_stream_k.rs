//! `wgmma_bf16_stream_k`: the tiles of the partial wave are split along k.
//!
//! # Idea
//! 144 tiles on 132 multiprocessors take as long as 264: in the second wave 12 multiprocessors work
//! and 120 idle. Here the tiles of full waves are data-parallel, as before. The others are
//! [stream-K tiles](crate::gemm::scheduler::persistent): several blocks compute splits of the
//! k-tiles of each, so that all multiprocessors have work.
//!
//! Each block stores the accumulators of its split to a workspace, as partial sums, and counts
//! itself at the tile. The fix-up is the work of the last block to arrive: it reduces all splits,
//! in their order, and stores the tile. No block waits for another one, and results do not depend
//! on the order of arrival.
//!
//! # Thread mapping
//! As for `wgmma_bf16_persistent`. A block computes its split first, then its data-parallel tiles.
//! Each consumer warpgroup counts and fixes up its own 64 rows.
//!
//! # Preconditions
//! As for `wgmma_bf16_single`.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16_tma_store`: work units in place of tiles, and the fix-up.
//!
//! # Source
//! Beyond the sources. Osama, Merrill, Cecka, Garland and Owens, "Stream-K", PPoPP 2023.

use super::wgmma_persistent::{CONSUMER_REGISTERS, PRODUCER_REGISTERS};
use super::wgmma_tma_store::{
    self, Accumulators, BK, BM, BN, BOXES, CONSUMER_WARPS, CONSUMERS, EPILOGUE_BYTES,
    EPILOGUE_TILES, Source,
};
use crate::gemm::GemmParams;
use crate::gemm::epilogue::output_elements::OutputElements;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::epilogue::tma_store::{self, TmaEpilogue};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::reduction::fix_up::{Warpgroup, fix_up};
use crate::gemm::reduction::partial_sums::PartialSums;
use crate::gemm::reduction::stream_k::partial_elements;
use crate::gemm::scheduler::Split;
use crate::gemm::scheduler::persistent::{StreamK, TileCoord, TileGrid, counters};
use crate::gemm::wgmma::source::OperandSource;
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps, WARPGROUP, WM};
use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::tma;
use cuda_std::wgmma;

/// Four stages, as in [`wgmma_tma_store`].
struct Four;

impl Stages for Four {
    const COUNT: usize = 4;
    const BYTES: usize = stage::stage_bytes(CONSUMERS, BN);
}

/// Offset in shared memory of a flag of each consumer warpgroup, 4 bytes.
const FLAGS: usize = wgmma_tma_store::SHARED_BYTES;

/// Dynamic shared memory.
pub const SHARED_BYTES: usize = FLAGS + CONSUMERS * size_of::<u32>();

/// Offset of the partial sums in the workspace, in elements: behind the counters, at a multiple of
/// 16 bytes.
pub const fn partial_sums_offset(stream_k_tiles: u32) -> u64 {
    counters(stream_k_tiles, CONSUMERS).next_multiple_of(4)
}

/// Elements of the workspace, for `stream_k_tiles` tiles of `splits` splits.
pub const fn workspace_elements(stream_k_tiles: u32, splits: u32) -> u64 {
    let groups = stream_k_tiles as u64 * splits as u64 * CONSUMERS as u64;
    partial_sums_offset(stream_k_tiles) + groups * partial_elements(BN) as u64
}

/// The kernel's parameters, the tile scheduler and its work units.
struct Params {
    maps: *const TensorMaps,
    c: *mut f32,
    workspace: *mut f32,
    gemm: GemmParams<f32>,
    tiles: TileGrid,
    stream_k: StreamK,
}

impl Params {
    /// The producer: copies the k-tiles of this block's work units.
    ///
    /// # Safety
    /// One thread of the block executes it, while the consumers execute [`consume`](Self::consume).
    #[inline(always)]
    unsafe fn produce(&self, mut pipeline: Pipeline<Four>) {
        let mut work_units = self.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            let coord = self.tiles.coord(unit.tile);
            for k_tile in unit.first_k_tile..unit.first_k_tile + unit.k_tiles {
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
        }
    }

    // ANCHOR: consume
    /// A consumer warpgroup: computes its rows of this block's work units. It stores those of whole
    /// tiles, and of the tiles that it fixes up.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it, while the producer executes
    /// [`produce`](Self::produce). `boxes` and `flag` are shared memory of this warpgroup alone.
    #[inline(always)]
    unsafe fn consume(
        &self,
        mut pipeline: Pipeline<Four>,
        warpgroup: usize,
        boxes: *mut u8,
        flag: *mut u32,
    ) {
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
        let mut work_units = self.stream_k.work_units(thread::block_idx_x());
        while let Some(unit) = work_units.advance() {
            // SAFETY: the whole warpgroup executes each call. The producer loads the k-tiles of the
            // same work units.
            unsafe {
                let mut accumulators: Accumulators =
                    Source::mma::<_, _, CONSUMERS>(&mut pipeline, unit.k_tiles, warpgroup);
                if unit.tile >= self.stream_k.data_parallel_tiles
                    && let Some(split) = self.stream_k.split(thread::block_idx_x())
                    && !self.fix_up(&mut accumulators, split, warpgroup, flag)
                {
                    continue;
                }
                let coord = self.tiles.coord(unit.tile);
                let row = coord.row + (warpgroup * WM) as u32;
                epilogue.store(&accumulators, TileCoord { row, ..coord }, 0..EPILOGUE_TILES);
            }
        }
        tma::wait_group::<0>();
    }
    // ANCHOR_END: consume

    // ANCHOR: fix_up
    /// Stores the partial sums of a split. As the last to arrive at the tile, reduces those of all
    /// splits to `accumulators`, and returns true.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it. The accumulators are those of `split`.
    #[inline(always)]
    unsafe fn fix_up(
        &self,
        accumulators: &mut Accumulators,
        split: Split,
        warpgroup: usize,
        flag: *mut u32,
    ) -> bool {
        let workspace = self.workspace;
        let partial_sums = PartialSums::<_, WARPGROUP>::new(
            workspace.wrapping_add(partial_sums_offset(self.stream_k.stream_k_tiles) as usize),
            split,
            [warpgroup, CONSUMERS],
            accumulators.len(),
        );
        let counter = workspace.wrapping_add(split.tile as usize * CONSUMERS + warpgroup);
        let group = Warpgroup {
            barrier: 1 + warpgroup as u32,
        };
        // SAFETY: the counter is a word of the workspace, 0 before the first split arrives; `flag`
        // is this warpgroup's.
        unsafe {
            partial_sums.store(accumulators, 1.0);
            fix_up(&group, &partial_sums, accumulators, counter.cast(), flag)
        }
    }
    // ANCHOR_END: fix_up
}

/// Inputs are bfloat16.
///
/// # Safety
/// As for [`wgmma_bf16_persistent`](super::wgmma_persistent::wgmma_bf16_persistent), with
/// [`SHARED_BYTES`] here. C's map has boxes of 64 rows of 32 elements. `workspace` has
/// [`workspace_elements`] and begins with zeros as far as [`partial_sums_offset`]. There is a block
/// for each of `splits` splits, at most the number of k-tiles, of the tiles from
/// `data_parallel_tiles` on.
#[cuda_std::kernel(max_threads = 384, min_blocks = 1)]
pub unsafe fn wgmma_bf16_stream_k(
    maps: *const TensorMaps,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    workspace: *mut f32,
    data_parallel_tiles: u32,
    splits: u32,
) {
    let base = stage::stages().at(EPILOGUE_BYTES as u32);
    let tiles = TileGrid::new([m, n], [BM as u32, BN as u32], 1);
    let params = Params {
        maps,
        c,
        workspace,
        gemm: GemmParams::dense([m, n, k], [false; 2]),
        tiles,
        stream_k: StreamK::new(
            stage::k_tiles(k, BK),
            [data_parallel_tiles, tiles.count() - data_parallel_tiles],
            splits,
            thread::grid_dim_x(),
        ),
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
            let memory = shared::dynamic_shared_mem::<u8>();
            let boxes = memory.wrapping_add(warpgroup * tma_store::BYTES);
            let flag = memory.wrapping_add(FLAGS + 4 * warpgroup).cast();
            params.consume(Pipeline::new(base), warpgroup, boxes, flag);
        }
    }
}

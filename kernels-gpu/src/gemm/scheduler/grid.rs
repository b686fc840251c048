//! The tile scheduler of grids with one block for each work tile.
//!
//! x and y count tiles of C along n and m, and z counts batch ·
//! [`splits`](GridSchedulerParams::splits) + split. Where there are stream-K tiles, the grid is one
//! row of blocks: those of the data-parallel tiles, then the first work units of all stream-K
//! tiles, then their other work units.

use super::{GROUP_M, Split, rasterize};
use crate::gemm::simt::promotion;
use crate::gemm::{GemmParams, partial_sums_pitch};
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// Parameters of the tile scheduler, passed by value beside [`GemmParams`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSchedulerParams {
    /// Split-K factor; at least 1.
    pub splits: u32,
    /// Elements along k of a split.
    pub k_per_split: u32,
    /// Data-parallel tiles: each has one block. [`u32::MAX`] where there are no stream-K tiles;
    /// otherwise `splits` and the batch are 1.
    pub data_parallel_tiles: u32,
    /// Stream-K tiles: the other ones, each of which has several blocks; at least 1.
    pub stream_k_tiles: u32,
    /// Work units of a stream-K tile.
    pub stream_k_splits: u32,
    /// Elements along k of a stream-K tile's first work unit.
    pub stream_k_first: u32,
    /// Elements along k of each of its other work units.
    pub stream_k_rest: u32,
    /// Elements along k after which `sgemm` promotes its accumulators: a power of two that BK
    /// divides. See [`promotion`].
    pub promotion_interval: u32,
}

impl GridSchedulerParams {
    /// Those of data-parallel tiles of a GEMM of this k.
    pub const fn data_parallel(k: u32) -> Self {
        GridSchedulerParams {
            splits: 1,
            k_per_split: if k == 0 { 1 } else { k },
            data_parallel_tiles: u32::MAX,
            stream_k_tiles: 1,
            stream_k_splits: 1,
            stream_k_first: k,
            stream_k_rest: 0,
            promotion_interval: promotion::NEVER,
        }
    }
}

/// What a block computes.
#[derive(Clone, Copy, Debug)]
pub struct WorkTile {
    /// First row of its tile in C.
    pub row: u32,
    /// First column of its tile in C.
    pub column: u32,
    /// The index of the matrices in the batch.
    pub batch: u32,
    /// The index of its split along k.
    pub split: u32,
    /// Its first element along k.
    pub k_start: u32,
    /// Its elements along k.
    pub k_extent: u32,
}

impl WorkTile {
    /// The work tile of this block, for tiles of `bm` × `bn`.
    #[inline(always)]
    pub fn of_this_block<T>(
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
        tile: [u32; 2],
    ) -> Self {
        let block = [
            thread::block_idx_x(),
            thread::block_idx_y(),
            thread::block_idx_z(),
        ];
        Self::of_block(params, scheduler, tile, block)
    }

    /// The same of block indices that are opaque to the compiler: what it computes then takes no
    /// registers before.
    #[inline(always)]
    pub fn of_this_block_again<T>(
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
        tile: [u32; 2],
    ) -> Self {
        let block = [
            thread::block_idx_x(),
            thread::block_idx_y(),
            thread::block_idx_z(),
        ];
        let block = block.map(|index| opaque(index as usize) as u32);
        Self::of_block(params, scheduler, tile, block)
    }

    /// Where the partial sums of this split of a GEMM of the batch begin in the workspace.
    #[inline(always)]
    pub fn partial_sums_offset<T>(
        &self,
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
    ) -> usize {
        let index = self.batch as usize * scheduler.splits as usize + self.split as usize;
        index * params.m as usize * partial_sums_pitch(params.n)
    }

    /// The work tile of the block of these indices.
    #[inline(always)]
    fn of_block<T>(
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
        [bm, bn]: [u32; 2],
        [x, y, z]: [u32; 3],
    ) -> Self {
        let (tiles_n, tiles_m) = (params.n.div_ceil(bn), params.m.div_ceil(bm));
        let mut tile = y * tiles_n + x;
        let (batch, split) = (z / scheduler.splits, z % scheduler.splits);
        let (mut k_start, mut k_extent) = (split * scheduler.k_per_split, scheduler.k_per_split);
        // Without branches, after which the compiler would take the extent along k for one that
        // differs between threads.
        let unit = Split::of_block(scheduler, tile);
        let (is_stream_k, is_first) = (tile >= scheduler.data_parallel_tiles, unit.index == 0);
        tile = if is_stream_k {
            scheduler.data_parallel_tiles + unit.tile
        } else {
            tile
        };
        let before = unit
            .index
            .wrapping_sub(1)
            .wrapping_mul(scheduler.stream_k_rest);
        let start_of_unit = scheduler.stream_k_first + before;
        let extent_of_unit = if is_first {
            scheduler.stream_k_first
        } else {
            scheduler.stream_k_rest
        };
        k_start = if is_stream_k && !is_first {
            start_of_unit
        } else {
            k_start
        };
        k_extent = if is_stream_k {
            extent_of_unit
        } else {
            k_extent
        };
        let [row, column] = rasterize(tile, [tiles_m, tiles_n], GROUP_M);
        WorkTile {
            row: row * bm,
            column: column * bn,
            batch,
            split,
            k_start,
            k_extent: k_extent.min(params.k.saturating_sub(k_start)),
        }
    }
}

impl Split {
    /// The split of this block, if its tile is a stream-K tile.
    ///
    /// It is computed from a block index that is opaque to the compiler: what is known of it before
    /// the main loop then takes no registers during the loop.
    #[inline(always)]
    pub fn of_this_block(scheduler: &GridSchedulerParams) -> Option<Self> {
        let block = opaque(thread::block_idx_x() as usize) as u32;
        (block >= scheduler.data_parallel_tiles).then(|| Self::of_block(scheduler, block))
    }

    /// The split of a block of a stream-K tile; of another block the result means nothing.
    #[inline(always)]
    fn of_block(scheduler: &GridSchedulerParams, block: u32) -> Self {
        let unit = block.wrapping_sub(scheduler.data_parallel_tiles);
        Split {
            tile: unit % scheduler.stream_k_tiles,
            index: unit / scheduler.stream_k_tiles,
            count: scheduler.stream_k_splits,
        }
    }
}

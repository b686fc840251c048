//! The tile scheduler of grids with one block for each work tile.
//!
//! x and y count tiles of C along n and m, and z counts batch ·
//! [`splits`](GridSchedulerParams::splits) + split. Where there are stream-K tiles, the grid is one
//! row of blocks: those of the data-parallel tiles, then the first work units of all stream-K
//! tiles, then their other work units.

use super::fast_divmod::FastDivmod;
use super::{GROUP_M, Split};
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
    /// By what block indices are divided: see [`with_tiles`](Self::with_tiles).
    pub divisors: Divisors,
}

/// Divisions of block indices.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisors {
    /// By the split-K factor.
    splits: FastDivmod,
    /// By the number of stream-K tiles.
    stream_k_tiles: FastDivmod,
    /// By the tiles of a group of the rasterisation.
    group: FastDivmod,
    /// By the rows of tiles of the last group.
    last_rows: FastDivmod,
}

impl GridSchedulerParams {
    /// Those of data-parallel tiles of a GEMM of this k.
    #[inline(always)]
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
            divisors: Divisors {
                splits: FastDivmod::new(1),
                stream_k_tiles: FastDivmod::new(1),
                group: FastDivmod::new(1),
                last_rows: FastDivmod::new(1),
            },
        }
    }

    /// The same, complete, for C of `tiles_m` × `tiles_n` tiles: once all fields have their values.
    #[inline(always)]
    pub const fn with_tiles(self, [tiles_m, tiles_n]: [u32; 2]) -> Self {
        let last_rows = match tiles_m % GROUP_M {
            0 => GROUP_M,
            rows => rows,
        };
        GridSchedulerParams {
            divisors: Divisors {
                splits: FastDivmod::new(self.splits),
                stream_k_tiles: FastDivmod::new(self.stream_k_tiles),
                group: FastDivmod::new(GROUP_M.saturating_mul(tiles_n)),
                last_rows: FastDivmod::new(last_rows),
            },
            ..self
        }
    }

    /// The rasterisation: row and column of a tile, counted in tiles, of `tiles_m` × `tiles_n`
    /// tiles, in groups of [`GROUP_M`] rows of them.
    #[inline(always)]
    fn rasterize(&self, tile: u32, [tiles_m, tiles_n]: [u32; 2]) -> [u32; 2] {
        let (group, within) = self.divisors.group.divmod(tile, GROUP_M * tiles_n);
        let first = group * GROUP_M;
        // The last group may have fewer rows.
        let rows = GROUP_M.min(tiles_m - first);
        let by_rows = if rows == GROUP_M {
            const { FastDivmod::new(GROUP_M) }
        } else {
            self.divisors.last_rows
        };
        let (column, row) = by_rows.divmod(within, rows);
        [first + row, column]
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
        let (batch, split) = scheduler.divisors.splits.divmod(z, scheduler.splits);
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
        let [row, column] = scheduler.rasterize(tile, [tiles_m, tiles_n]);
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
        let by_tiles = scheduler.divisors.stream_k_tiles;
        let (index, tile) = by_tiles.divmod(unit, scheduler.stream_k_tiles);
        Split {
            tile,
            index,
            count: scheduler.stream_k_splits,
        }
    }
}

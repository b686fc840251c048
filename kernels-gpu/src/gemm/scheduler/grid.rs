//! Tile scheduler of grids with one block per work tile.

use super::GROUP;
use crate::gemm::GemmParams;
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// What a block computes.
#[derive(Clone, Copy, Debug)]
pub struct WorkTile {
    /// First row and column of its tile in C.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// Which matrices of the batch.
    pub batch: u32,
    /// Which part of k.
    pub split: u32,
    /// First element and extent along k.
    pub start: u32,
    /// See `start`.
    pub depth: u32,
}

impl WorkTile {
    /// The tile of this block, for tiles of `rows` × `columns`.
    ///
    /// Blocks start in the order of their numbers. Numbered along the rows of C, those that run together would need all of
    /// B; so they go down 8 tiles before they go to the next column, and unit what the caches hold of both.
    #[inline(always)]
    pub fn of_this_block<T>(gemm: &GemmParams<T>, rows: u32, columns: u32) -> Self {
        let (across, down) = (gemm.n.div_ceil(columns), gemm.m.div_ceil(rows));
        let z = thread::block_idx_z();
        let mut number = thread::block_idx_y() * across + thread::block_idx_x();
        let (batch, split) = (z / gemm.splits, z % gemm.splits);
        let (mut start, mut most) = (split * gemm.k_per_split, gemm.k_per_split);
        // Without branches, which would make the compiler take the depth for another one in each thread.
        let unit = StreamKUnit::of_block(gemm, number);
        let (is_cut, is_later) = (number >= gemm.data_parallel_tiles, unit.part > 0);
        number = if is_cut {
            gemm.data_parallel_tiles + unit.tile
        } else {
            number
        };
        let later =
            gemm.stream_k_first + (unit.part.wrapping_sub(1)).wrapping_mul(gemm.stream_k_rest);
        let of_unit = if is_later {
            gemm.stream_k_rest
        } else {
            gemm.stream_k_first
        };
        start = if is_cut && is_later { later } else { start };
        most = if is_cut { of_unit } else { most };
        let first = number / (GROUP * across) * GROUP;
        let height = GROUP.min(down - first);
        let within = number - first * across;
        WorkTile {
            row: (first + within % height) * rows,
            column: within / height * columns,
            batch,
            split,
            start,
            depth: most.min(gemm.k.saturating_sub(start)),
        }
    }
}

/// A block's unit of a tile that is cut.
#[derive(Clone, Copy, Debug)]
pub struct StreamKUnit {
    /// Which of the tiles that are cut.
    pub tile: u32,
    /// Which part of it.
    pub part: u32,
}

impl StreamKUnit {
    /// The unit of this block. It is found out by a number that the compiler does not know, so that what was known before the
    /// main loop holds no registers through it.
    #[inline(always)]
    pub fn of_this_block<T>(gemm: &GemmParams<T>) -> Option<Self> {
        let number = opaque(thread::block_idx_x() as usize) as u32;
        (number >= gemm.data_parallel_tiles).then(|| Self::of_block(gemm, number))
    }

    /// Where the accumulators of this part lie, row-major, for tiles of `elements` elements. Those of the tile's other parts lie beside
    /// them.
    #[inline(always)]
    pub fn place<T>(&self, gemm: &GemmParams<T>, partials: *mut T, elements: usize) -> *mut T {
        let part = self.tile as usize * gemm.stream_k_splits as usize + self.part as usize;
        partials.wrapping_add(part * elements)
    }

    /// The unit of the block of this number, which is at least `whole`; otherwise anything.
    #[inline(always)]
    fn of_block<T>(gemm: &GemmParams<T>, number: u32) -> Self {
        let number = number.wrapping_sub(gemm.data_parallel_tiles);
        StreamKUnit {
            tile: number % gemm.stream_k_tiles,
            part: number / gemm.stream_k_tiles,
        }
    }
}

//! Tile schedulers: which block computes which tile of C, and which k-tiles of it.
//!
//! | file | kernels | grid |
//! |---|---|---|
//! | [`grid`] | SIMT and `mma.sync` | one block for each work tile: the hardware schedules |
//! | [`persistent`] | `wgmma` | one block for each SM, which takes one work unit after the other |
//!
//! Both divide C in three ways. *Data-parallel* tiles have one block for all of k. *Split-K* gives
//! every tile the same number of blocks. *Stream-K* does so for the tiles of the last, partial wave
//! alone, so that no SM idles there (Osama, Merrill, Cecka, Garland and Owens, "Stream-K", PPoPP
//! 2023). What several blocks accumulated of a tile is added up by a [reduction](super::reduction).
//!
//! Both number the tiles in groups of rows of tiles, column by column in a group: blocks that run
//! at the same time then share rows of A and columns of B in the L2 cache.

pub mod cluster_shape;
pub mod fast_divmod;
pub mod grid;
#[cfg(sm_90a)]
pub mod persistent;

/// A split of a stream-K tile: consecutive k-tiles of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Index of the tile among the stream-K tiles.
    pub tile: u32,
    /// Index of the split in its tile.
    pub index: u32,
    /// Splits of the tile.
    pub count: u32,
}

impl Split {
    /// The index of split `index` of this tile among the splits of all stream-K tiles.
    #[inline(always)]
    pub const fn in_workspace(&self, index: u32) -> u32 {
        self.tile * self.count + index
    }
}

/// Rows of tiles in a group of the rasterisation: Triton's `GROUP_M`.
pub const GROUP_M: u32 = 8;

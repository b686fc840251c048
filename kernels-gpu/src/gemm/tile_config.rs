//! The instances of the general products, for whoever launches them.
//!
//! All take `(a, len, b, len, c, partials, gemm)`: the operands as slices, C, memory for partial products or null, and a
//! [`GemmParams`](super::GemmParams) by value.
//!
//! # Safety
//! `a`, `b` and `c` are device arrays as [the parameters](super) describe them, `c` and `partials` apart from all others;
//! operands lie as the instance expects; grid, block and dynamic shared memory are those of a
//! [`Choice`](super::choose::Choice) for the same sizes. No extent is 0, but k may be.

use crate::gemm::pipeline::cp_async;

/// One instance that works by tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileConfig {
    /// The PTX entry.
    pub entry: &'static str,
    /// Rows, columns and depth of a tile.
    pub tile: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that fit on a multiprocessor of the largest GPUs.
    pub blocks_per_sm: u32,
    /// The longest [promotion_interval](super::slices) that it makes of k, if any.
    pub promotion_interval: Option<u32>,
    /// How A and B lie: constants of [`way`](crate::gemm::copy::layout).
    pub layouts: [u32; 2],
}

impl TileConfig {
    /// The instance of elements `T` with so many stages of tiles.
    pub(crate) const fn new<T>(
        entry: &'static str,
        tile: [usize; 3],
        threads: u32,
        stages: usize,
        blocks_per_sm: u32,
        layouts: [u32; 2],
    ) -> Self {
        TileConfig {
            entry,
            tile: [tile[0] as u32, tile[1] as u32, tile[2] as u32],
            threads,
            shared_bytes: cp_async::shared_bytes::<T>(tile, stages) as u32,
            blocks_per_sm,
            promotion_interval: None,
            layouts,
        }
    }
}

//! Tile configurations: the instances of the GEMM kernels, for the planner.
//!
//! All take `(a, len, b, len, c, workspace, params)`: the operands as slices, C, the workspace for
//! partial sums or null, and a [`GemmParams`](super::GemmParams) by value.
//!
//! # Safety
//! `a`, `b` and `c` are device arrays of the extents and leading dimensions that
//! [the parameters](super::params) give. `c` and `workspace` overlap no other array. The operands
//! have the instance's layouts. Grid, block, dynamic shared memory, workspace and the parameters of
//! the scheduler are those of a [`TilePlan`](super::planner::tiles::TilePlan) for the same sizes.
//! The counters before the workspace are zero, and no other kernel uses them meanwhile. No extent
//! is 0, but k may be.

use crate::gemm::pipeline::cp_async;

/// One instance of a kernel with block tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileConfig {
    /// The PTX entry.
    pub entry: &'static str,
    /// The block tile and the k-tile, `[BM, BN, BK]`, in elements.
    pub tile: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks that fit on an SM of the largest GPUs.
    pub blocks_per_sm: u32,
    /// The longest [promotion interval](super::simt::promotion) that it has, if any, in elements
    /// along k.
    pub promotion_interval: Option<u32>,
    /// Layouts of A and B: constants of [`layout`](crate::gemm::copy::layout).
    pub layouts: [u32; 2],
}

impl TileConfig {
    /// The instance `entry` for elements `T`, with `stages` stages.
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

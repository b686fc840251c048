//! Tile configurations: what a kernel is compiled for, and what the planner knows of it.
//!
//! A kernel's constants are a type that implements [`Tile`]. Each stack has one table of them, of
//! which the kernels are generated, for the device, and a [`TileConfig`] of each, for the host:
//! [`simt`](super::simt::main_loop), [`mma`](super::mma::main_loop),
//! [`wgmma`](super::wgmma::kernels).
//!
//! The SIMT and `mma.sync` kernels take `(a, len, b, len, c, workspace, params, scheduler)`: the
//! operands as slices, C, the workspace for partial sums or null, and by value a
//! [`GemmParams`](super::GemmParams) and the parameters of the
//! [tile scheduler](super::scheduler::grid).
//!
//! # Safety
//! `a`, `b` and `c` are device arrays of the extents and leading dimensions that
//! [the parameters](super::params) give. `c` and `workspace` overlap no other array. The operands
//! have the instance's layouts. Grid, block, dynamic shared memory, workspace and the parameters of
//! the scheduler are those of a [`GemmPlan`](super::planner::GemmPlan) for the same sizes.
//! The counters before the workspace are zero, and no other kernel uses them meanwhile. No extent
//! is 0, but k may be.

use super::scheduler::cluster_shape::ClusterShape;
use cuda_std::wgmma::COLUMN_STEP;

/// The constants of a kernel.
pub trait Tile {
    /// Rows of the block tile.
    const BM: usize;
    /// Columns of the block tile.
    const BN: usize;
    /// The k-tile: elements along k of a stage.
    const BK: usize;
    /// Threads of a block.
    const THREADS: usize;
    /// Stages of the pipeline.
    const STAGES: usize;
    /// Bytes of dynamic shared memory of a block.
    const SHARED_BYTES: usize;
    /// Blocks that fit on an SM of the largest GPUs.
    const BLOCKS_PER_SM: u32 = 1;
    /// Whether a launch may begin before the one in front has ended: see
    /// [`griddepcontrol`](cuda_std::griddepcontrol). It needs compute capability 9.0.
    const OVERLAPS: bool = false;
    /// The longest [promotion interval](super::simt::promotion), if any, in elements along k.
    const PROMOTION_INTERVAL: Option<u32> = None;
}

/// One kernel of a [`Tile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileConfig {
    /// The PTX entry.
    pub entry: &'static str,
    /// The block tile and the k-tile, `[BM, BN, BK]`, in elements.
    pub tile: [u32; 3],
    /// Columns of the narrowest tiles that a launch may choose, in steps of [`COLUMN_STEP`] from BN
    /// on.
    pub narrowest: u32,
    /// See [`Tile::THREADS`].
    pub threads: u32,
    /// See [`Tile::SHARED_BYTES`].
    pub shared_bytes: u32,
    /// Shapes of the [multicast clusters](super::wgmma::multicast) that a launch may have.
    pub clusters: &'static [ClusterShape],
    /// See [`Tile::BLOCKS_PER_SM`].
    pub blocks_per_sm: u32,
    /// See [`Tile::PROMOTION_INTERVAL`].
    pub promotion_interval: Option<u32>,
    /// Layouts of A and B: constants of [`layout`](crate::gemm::copy::layout).
    pub layouts: [u32; 2],
}

impl TileConfig {
    /// The kernel `entry` with the constants of `T`.
    pub(crate) const fn new<T: Tile>(entry: &'static str, layouts: [u32; 2]) -> Self {
        const {
            assert!(T::THREADS.is_multiple_of(32) && T::STAGES > 0);
        }
        TileConfig {
            entry,
            tile: [T::BM as u32, T::BN as u32, T::BK as u32],
            narrowest: T::BN as u32,
            threads: T::THREADS as u32,
            shared_bytes: T::SHARED_BYTES as u32,
            clusters: &[ClusterShape::ALONE],
            blocks_per_sm: T::BLOCKS_PER_SM,
            promotion_interval: T::PROMOTION_INTERVAL,
            layouts,
        }
    }

    /// Columns of the tiles that a launch may choose, the widest first.
    pub fn widths(&self) -> impl Iterator<Item = u32> + use<> {
        let [_, bn, _] = self.tile;
        (self.narrowest..=bn).rev().step_by(COLUMN_STEP)
    }

    /// The same where a launch may choose tiles of fewer columns, down to these.
    pub(crate) const fn narrowed_to(self, narrowest: usize) -> Self {
        let narrowest = narrowest as u32;
        TileConfig { narrowest, ..self }
    }

    /// The same in multicast clusters of any of these shapes.
    pub(crate) const fn in_clusters(self, clusters: &'static [ClusterShape]) -> Self {
        TileConfig { clusters, ..self }
    }
}

//! The planner: which kernel computes a GEMM, with which tile and decomposition.
//!
//! [`KernelSet::candidates`] lists the plans of an element type, each with the clocks of an SM that
//! the cost model gives it. [`KernelSet::plan`] takes the one with the least.
//!
//! | file | part |
//! |---|---|
//! | `kernel_set.rs` | the kernels of an element type, and the choice among their plans |
//! | `kernel_set/elements.rs` | the kernels of each element type |
//! | `grid.rs` | candidates of the SIMT, `mma.sync` and GEMV kernels, one work unit a block |
//! | `persistent.rs` | candidates of the `wgmma` kernels, whose blocks are persistent |
//! | `grouped.rs` | what a list of GEMMs takes in one launch |
//! | `cost.rs` | the cost model, and what grids take |
//! | `cost/persistent.rs` | what persistent kernels and the copies of their operands take |
//! | `cost/gemv.rs` | what a GEMV takes |

mod cost;
mod grid;
mod grouped;
pub mod kernel_set;
mod persistent;

pub use cost::{LINE_BYTES, row_alignment};
pub use kernel_set::{KernelSet, OperandCopies};

use super::scheduler::cluster_shape::ClusterShape;
use super::scheduler::persistent::{ReductionMode, TileSchedulerParams};
use super::simt::promotion;
use super::tile_config::TileConfig;
use super::wgmma::boxes::OperandBoxes;
use core::fmt;

/// A GEMM to plan, and the device that computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmProblem {
    /// m, n and k; m and n at least 1.
    pub extents: [u32; 3],
    /// Whether A and B are stored transposed.
    pub transposed: [bool; 2],
    /// Whether the rows of A and B, as they are stored, start at multiples of 16 bytes; of an
    /// MN-major operand, whether they are of whole vectors of 16 bytes as well.
    pub vectors: [bool; 2],
    /// Whether the rows of A and B, as they are stored, start at multiples of 16 bytes.
    pub aligned_rows: [bool; 2],
    /// Bytes at whose multiples the rows of A and B begin where a kernel loads them, behind the
    /// first one: a power of two, 128 at most.
    pub row_alignment: [u32; 2],
    /// Whether an operator is fused with the product: see
    /// [`FusionParams`](super::epilogue::fusion::FusionParams). No reduction kernel has one.
    pub fused: bool,
    /// Whether rows of C start at multiples of a vector of four elements, or of 16 bytes.
    pub c_vectors: bool,
    /// Whether TMA can store C: see [`TileSchedulerParams::tma_store`].
    pub tma_store: bool,
    /// GEMMs in the batch.
    pub batch: u32,
    /// SMs of the device.
    pub multiprocessors: u32,
    /// The clusters that it runs at the same time.
    pub active_clusters: ActiveClusters,
    /// The most dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// The most clusters of blocks with an SM each that run at the same time. The SMs of a cluster are
/// neighbours, in GPCs of different sizes: clusters of 2 always fit, and of larger ones some GPCs
/// have a remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActiveClusters {
    /// By the blocks of a cluster, from 1 on.
    of_blocks: [u32; Self::MAX_BLOCKS as usize],
}

impl ActiveClusters {
    /// The most blocks of a cluster that every device with clusters runs (CUDA C++ Programming
    /// Guide, "Thread Block Clusters").
    pub const MAX_BLOCKS: u32 = 8;

    /// Those that a device tells, by the blocks of a cluster, from 1 on.
    pub const fn new(of_blocks: [u32; Self::MAX_BLOCKS as usize]) -> Self {
        ActiveClusters { of_blocks }
    }

    /// Those that surely run on a device of `multiprocessors` SMs: clusters of more than 2 blocks
    /// on three quarters of them. An H200 runs 30 clusters of 4 on its 132, and 22 of 5.
    pub fn estimate(multiprocessors: u32) -> Self {
        let of = |blocks: u32| match blocks {
            ..=2 => multiprocessors / blocks,
            _ => multiprocessors / 4 * 3 / blocks,
        };
        Self::new(core::array::from_fn(|index| of(index as u32 + 1)))
    }

    /// Those of `blocks` blocks.
    pub fn of(&self, blocks: u32) -> u32 {
        let known = self.of_blocks.get(blocks as usize - 1);
        known.copied().unwrap_or(0)
    }
}

/// The device that costs were measured on.
#[cfg(test)]
const H200: GemmProblem = GemmProblem {
    extents: [4096; 3],
    transposed: [false; 2],
    vectors: [true; 2],
    aligned_rows: [true; 2],
    row_alignment: [128; 2],
    fused: false,
    c_vectors: true,
    tma_store: true,
    batch: 1,
    multiprocessors: 132,
    active_clusters: ActiveClusters::new([132, 66, 39, 30, 22, 17, 15, 15]),
    shared_bytes: 227 << 10,
};

/// How to launch a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmPlan {
    /// The PTX entry.
    pub entry: &'static str,
    /// Blocks of the grid.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of a cluster.
    pub cluster_size: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Elements along k after which accumulators are promoted.
    pub promotion_interval: u32,
    /// The work units of tiles.
    pub decomposition: Decomposition,
    /// What gives work units to blocks.
    pub scheduler: TileScheduler,
    /// The reduction kernel behind the GEMM, where there is one.
    pub reduction: Option<ReductionLaunch>,
    /// Bytes at the start of the workspace that are 0 before the launch and after it: counters.
    pub zeroed_bytes: u64,
    /// Bytes of the workspace, with those.
    pub workspace_bytes: u64,
}

/// How tiles are decomposed along k into work units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decomposition {
    /// Each tile is one work unit.
    DataParallel,
    /// Each tile has the same splits.
    SplitK {
        /// The split-K factor, 2 or more.
        splits: u32,
        /// k of a split; the last one may have less.
        split_k: u32,
    },
    /// The tiles of the last, partial wave are stream-K tiles.
    StreamK(StreamK),
}

/// Stream-K tiles, and the data-parallel ones before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamK {
    /// Data-parallel tiles.
    pub data_parallel_tiles: u32,
    /// Stream-K tiles.
    pub tiles: u32,
    /// Tiles along n, of either kind.
    pub tiles_n: u32,
    /// Splits of each of them.
    pub splits: u32,
    /// k of a tile's first split, in a persistent grid rounded up to whole k-tiles.
    pub first_split_k: u32,
    /// k of each of its other splits; in a persistent grid, of the shortest.
    pub other_split_k: u32,
    /// What reduces their partial sums.
    pub reduction: ReductionMode,
}

/// What gives work units to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileScheduler {
    /// The grid: each block has the work unit of its index.
    Grid,
    /// Each block of a persistent grid goes through its work units.
    Persistent {
        /// The kernel.
        config: &'static TileConfig,
        /// The parameters of its tile scheduler.
        params: TileSchedulerParams,
        /// How the rows of A and the columns of B come to stages.
        boxes: [OperandBoxes; 2],
    },
}

/// The launch of a reduction kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionLaunch {
    /// The PTX entry.
    pub entry: &'static str,
    /// Blocks of the grid.
    pub grid: [u64; 3],
    /// Threads of a block in x and y.
    pub block: [u32; 2],
}

impl GemmPlan {
    /// The plan of data-parallel tiles, a block each.
    const fn data_parallel(entry: &'static str, grid: [u64; 3], threads: u32) -> Self {
        GemmPlan {
            entry,
            grid,
            threads,
            cluster_size: 1,
            shared_bytes: 0,
            promotion_interval: promotion::NEVER,
            decomposition: Decomposition::DataParallel,
            scheduler: TileScheduler::Grid,
            reduction: None,
            zeroed_bytes: 0,
            workspace_bytes: 0,
        }
    }

    /// BN of a persistent kernel's tiles, which a launch may choose; `None` for others.
    pub const fn tile_columns(&self) -> Option<u32> {
        match &self.scheduler {
            TileScheduler::Grid => None,
            TileScheduler::Persistent { params, .. } => Some(params.tiles.tile()[1]),
        }
    }

    /// The shape of its [multicast clusters](super::wgmma::multicast).
    pub const fn cluster_shape(&self) -> ClusterShape {
        match &self.scheduler {
            TileScheduler::Grid => ClusterShape::ALONE,
            TileScheduler::Persistent { params, .. } => params.tiles.cluster(),
        }
    }
}

impl Decomposition {
    /// The split-K factor of all tiles; 1 where they are not split, or not all alike.
    pub const fn splits(self) -> u32 {
        match self {
            Decomposition::SplitK { splits, .. } => splits,
            _ => 1,
        }
    }

    /// The stream-K tiles, where there are any.
    pub const fn stream_k(self) -> Option<StreamK> {
        match self {
            Decomposition::StreamK(stream_k) => Some(stream_k),
            _ => None,
        }
    }
}

/// The split-K factor, the tiles that have it where not all have, and what reduces them.
impl fmt::Display for Decomposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stream_k() {
            Some(StreamK {
                splits,
                tiles,
                reduction,
                ..
            }) => {
                let by = match reduction {
                    ReductionMode::LastBlock => "",
                    ReductionMode::Cluster => ", in a cluster",
                    ReductionMode::Kernel => ", by a kernel",
                };
                write!(f, "{splits} of the last {tiles} tiles{by}")
            }
            None => self.splits().fmt(f),
        }
    }
}

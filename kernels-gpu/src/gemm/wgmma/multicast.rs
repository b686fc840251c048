//! Multicast clusters, whose blocks compute a rectangle of tiles and load operands for each other.
//!
//! The L2 cache limits what one multiprocessor or all of them load. A small tile has few elements
//! for each row of A and column of B that it loads, and rows that begin between two lines of the
//! cache take more of them. The tensor cores then wait. Blocks of neighbouring tiles load the same
//! rows of A, those of a column of tiles the same columns of B. In a cluster of m × n blocks, each
//! block loads an nth of its k-tile of A with multicast to the n blocks beside it, and an mth of
//! that of B to the m blocks below and above. So a stage is empty when the consumer warps of all
//! these blocks have released it, and full when the loads of all have completed.
//!
//! # Source
//! Beyond the sources; for multicast see the PTX ISA, "cp.async.bulk.tensor",
//! `.multicast::cluster`.

use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps};
use cuda_std::async_copy::SharedAddress;
use cuda_std::cluster;
use cuda_std::mbarrier::Barrier;
use cuda_std::tma::{self, TensorMap};
use cuda_std::wgmma::{Input, K_MAJOR};

/// Shapes of clusters, from a block without multicast to 8 blocks.
pub const UP_TO_8: &[ClusterShape] = &[
    ClusterShape::ALONE,
    ClusterShape::new([2, 1]),
    ClusterShape::new([1, 2]),
    ClusterShape::new([4, 1]),
    ClusterShape::new([2, 2]),
    ClusterShape::new([1, 4]),
    ClusterShape::new([4, 2]),
    ClusterShape::new([2, 4]),
];

/// Those of them with multicast.
pub const FROM_2_TO_8: &[ClusterShape] = UP_TO_8.split_at(1).1;

/// Without multicast.
pub const ALONE: &[ClusterShape] = &[ClusterShape::ALONE];

/// Rows of a TMA box, where a k-tile has `rows` rows and each of `blocks` blocks loads its share of
/// them. `blocks` is a power of two.
pub const fn box_rows(rows: u32, blocks: u32) -> u32 {
    // A power of two: a division would take the producer more registers than it has.
    rows >> blocks.trailing_zeros()
}

/// A block in its cluster.
#[derive(Clone, Copy, Debug)]
pub struct BlockInCluster {
    shape: ClusterShape,
    /// Which of its rows and columns it is in.
    coord: [u32; 2],
}

impl BlockInCluster {
    /// This block.
    #[inline(always)]
    pub fn this(shape: ClusterShape) -> Self {
        let coord = shape.coord(cluster::block_rank());
        BlockInCluster { shape, coord }
    }

    /// The ranks of the blocks whose producers fill its stages, as bits.
    #[inline(always)]
    pub const fn producers(&self) -> u32 {
        let [row, column] = self.coord;
        self.shape.row(row) | self.shape.column(column)
    }

    /// What it loads of A's boxes of `rows_a` rows and of B's of `rows_b`.
    #[inline(always)]
    pub const fn slices(&self, [rows_a, rows_b]: [u32; 2]) -> [BoxSlice; 2] {
        let ([m, n], [row, column]) = (self.shape.log2(), self.coord);
        [
            BoxSlice {
                first: column * (rows_a >> n),
                blocks: self.shape.row(row) as u16,
                is_multicast: n != 0,
            },
            BoxSlice {
                first: row * (rows_b >> m),
                blocks: self.shape.column(column) as u16,
                is_multicast: m != 0,
            },
        ]
    }
}

/// The slice of each TMA box of an operand that a block loads.
#[derive(Clone, Copy, Debug)]
pub struct BoxSlice {
    /// Its first row in the box.
    first: u32,
    /// The ranks of the blocks that it is loaded for, as bits.
    blocks: u16,
    /// Whether these are several.
    is_multicast: bool,
}

impl BoxSlice {
    /// [`tma::load_3d`], for all of these blocks.
    ///
    /// # Safety
    /// As for [`tma::load_3d_multicast`].
    #[inline(always)]
    unsafe fn load(self, to: SharedAddress, map: *const TensorMap, at: [u32; 3], full: Barrier) {
        // SAFETY: the contract is that of this function.
        unsafe {
            if self.is_multicast {
                tma::load_3d_multicast(to, map, at, full, self.blocks);
            } else {
                tma::load_3d(to, map, at, full);
            }
        }
    }
}

/// Starts the TMA loads of the pipeline's stage, as [`stage::load`] does. In a multicast cluster,
/// the block loads its slices of the k-tiles, with multicast to the blocks that share them.
///
/// # Safety
/// As for [`stage::load`], with boxes of [`box_rows`] rows. The stage is empty in all blocks that
/// the slices are loaded for.
#[inline(always)]
pub unsafe fn load<E: Input, R: Stages, const CONSUMERS: usize, const A: i32, const B: i32>(
    pipeline: &Pipeline<R>,
    maps: *const TensorMaps,
    coord: StageCoord,
) {
    let (stage, full) = (pipeline.stage(), pipeline.full());
    let Some([slice_a, slice_b]) = coord.slices else {
        // SAFETY: the contract is that of `stage::load`.
        return unsafe { stage::load::<E, CONSUMERS, A, B>(stage, maps, coord, full) };
    };
    let [boxes_a, boxes_b] = coord.boxes;
    let first_of = |major: i32, start: u32, slice: BoxSlice| match major {
        K_MAJOR => [start + slice.first, coord.start],
        _ => [start, coord.start + slice.first],
    };
    let at_slice = |slice: BoxSlice| slice.first * stage::ROW_BYTES as u32;
    // SAFETY: the contract says that the maps are valid and that the stage is empty in all blocks.
    // The full barriers expect the bytes of both k-tiles, of which each block brings its slices.
    unsafe {
        full.arrive_expect_tx((boxes_a.rows() + boxes_b.rows()) * stage::ROW_BYTES as u32);
        let map = &raw const (*maps).a;
        let start = first_of(A, coord.top, slice_a);
        let to = stage.at(at_slice(slice_a));
        stage::each_box::<E, A>(to, start, boxes_a, |to, [column, row]| {
            let at = [column, row, coord.matrices[0]];
            slice_a.load(to, map, at, full);
        });
        let map = &raw const (*maps).b;
        let start = first_of(B, coord.left, slice_b);
        let to = stage::tile_b(stage, CONSUMERS).at(at_slice(slice_b));
        stage::each_box::<E, B>(to, start, boxes_b, |to, [column, row]| {
            let at = [column, row, coord.matrices[1]];
            slice_b.load(to, map, at, full);
        });
    }
}

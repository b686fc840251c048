//! Multicast clusters, whose blocks compute tiles below each other and load B for each other.
//!
//! A tile of few rows has few rows for each column of B. Its tensor cores then wait for the L2
//! cache, whose bandwidth limits what one multiprocessor or all of them load. Blocks that compute
//! neighbouring tiles of a column of tiles need the same k-tiles of B. As a cluster, each of them
//! loads a slice of B with multicast to all. So a stage is empty when the consumer warps of all
//! blocks have released it, and full when the loads of all have completed.
//!
//! # Source
//! Beyond the sources; for multicast see the PTX ISA, "cp.async.bulk.tensor",
//! `.multicast::cluster`.

use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps};
use cuda_std::cluster;
use cuda_std::tma;
use cuda_std::wgmma::{Input, K_MAJOR};

/// Rows of a TMA box of B, where the k-tile of B has `rows` rows and each of `blocks` blocks loads
/// its share of them. `blocks` is a power of two.
pub const fn box_rows(rows: u32, blocks: u32) -> u32 {
    // A power of two: a division would take the producer more registers than it has.
    rows >> blocks.trailing_zeros()
}

/// The slice of each TMA box of B that a block loads.
#[derive(Clone, Copy, Debug)]
pub struct BoxSlice {
    /// Blocks that load one each: a power of two.
    blocks: u32,
    /// Its first row in the box.
    first: u32,
}

impl BoxSlice {
    /// All of it, without multicast.
    pub const WHOLE: BoxSlice = BoxSlice {
        blocks: 1,
        first: 0,
    };

    /// That of this block, one of `blocks` blocks of a cluster, of boxes of `rows` rows.
    #[inline(always)]
    pub fn of_block(blocks: u32, rows: u32) -> Self {
        let first = cluster::block_rank() * box_rows(rows, blocks);
        BoxSlice { blocks, first }
    }
}

/// Starts the TMA loads of the pipeline's stage, as [`stage::load`] does. In a multicast cluster,
/// the block loads its slice of B's k-tile, with multicast to all blocks.
///
/// # Safety
/// As for [`stage::load`], with boxes of B of [`box_rows`] rows. The stage is empty in all blocks
/// that load a slice.
#[inline(always)]
pub unsafe fn load<E: Input, R: Stages, const CONSUMERS: usize, const A: i32, const B: i32>(
    pipeline: &Pipeline<R>,
    maps: *const TensorMaps,
    coord: StageCoord,
) {
    let (stage, full) = (pipeline.stage(), pipeline.full());
    let BoxSlice { blocks, first } = coord.slice;
    if blocks == 1 {
        // SAFETY: the contract is that of `stage::load`.
        return unsafe { stage::load::<E, CONSUMERS, A, B>(stage, maps, coord, full) };
    }
    let to = stage::tile_b(stage, CONSUMERS).at(first * stage::ROW_BYTES as u32);
    let start = match B {
        K_MAJOR => [coord.left + first, coord.start],
        _ => [coord.left, coord.start + first],
    };
    let all_blocks = ((1 << blocks) - 1) as u16;
    // SAFETY: the contract says that the maps are valid and that the stage is empty in all blocks.
    // The full barriers expect the bytes of all of B, of which each block brings its slice.
    unsafe {
        stage::load_a::<E, A>(stage, maps, coord, full);
        let map = &raw const (*maps).b;
        stage::each_box::<E, B>(to, start, coord.boxes[1], |to, [column, row]| {
            tma::load_3d_multicast(to, map, [column, row, coord.matrices[1]], full, all_blocks);
        });
    }
}

//! 2-CTA clusters, whose blocks compute tiles below each other and load B by multicast.
//!
//! A block of one consumer warpgroup has few rows for each column of B. Its tensor cores then wait
//! for the L2 cache, whose bandwidth limits what one multiprocessor or all of them load. Two such
//! blocks that compute neighbouring tiles of a column of tiles need the same k-tiles of B. As a
//! cluster of two, each block loads half of B with multicast to both. So a stage is empty when the
//! consumer warps of both blocks have released it, and full when the loads of both have completed.
//!
//! # Source
//! Beyond the sources; for multicast see the PTX ISA, "cp.async.bulk.tensor",
//! `.multicast::cluster`.

use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps, block_k};
use cuda_std::cluster;
use cuda_std::tma;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR};

/// Blocks of a cluster with multicast.
pub const CLUSTER_SIZE: u32 = 2;

/// Rows of a TMA box of B, where the k-tile of B has `rows` rows and each of `blocks` blocks loads
/// its share of them.
pub const fn box_rows(rows: u32, blocks: u32) -> u32 {
    rows / blocks
}

/// The multicast mask of both blocks.
const ALL_BLOCKS: u16 = (1 << CLUSTER_SIZE) - 1;

/// Starts the TMA loads of the pipeline's stage, as [`stage::load`] does. In a cluster, the block
/// loads half of B's k-tile, with multicast to both blocks.
///
/// # Safety
/// As for [`stage::load`], with boxes of B of [`box_rows`] rows. The stage is empty in both blocks.
#[inline(always)]
pub unsafe fn load<
    E: Input,
    S: Accumulator,
    R: Stages,
    const CONSUMERS: usize,
    const A: i32,
    const B: i32,
>(
    pipeline: &Pipeline<R>,
    maps: *const TensorMaps,
    coord: StageCoord,
) {
    let (stage, full) = (pipeline.stage(), pipeline.full());
    if R::CLUSTER_SIZE == 1 {
        // SAFETY: the contract is that of `stage::load`.
        return unsafe { stage::load::<E, CONSUMERS, A, B>(stage, maps, coord, full) };
    }
    let rows = if B == K_MAJOR {
        coord.boxes[1].extent
    } else {
        block_k(E::BYTES) as u32
    };
    let first = cluster::block_rank() * box_rows(rows, CLUSTER_SIZE);
    let to = stage::tile_b(stage, CONSUMERS).at(first * stage::ROW_BYTES as u32);
    let start = match B {
        K_MAJOR => [coord.left + first, coord.start],
        _ => [coord.left, coord.start + first],
    };
    // SAFETY: the contract says that the maps are valid and that the stage is empty in both blocks.
    // The full barriers expect the bytes of all of B, half of which comes from each block.
    unsafe {
        stage::load_a::<E, A>(stage, maps, coord, full);
        let map = &raw const (*maps).b;
        stage::each_box::<E, B>(to, start, coord.boxes[1], |to, [column, row]| {
            tma::load_3d_multicast(to, map, [column, row, coord.matrices[1]], full, ALL_BLOCKS);
        });
    }
}

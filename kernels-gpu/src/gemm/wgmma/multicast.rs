//! Pairs of blocks, one below the other, that load B together.
//!
//! A block of one warpgroup has few rows to each column of B: what a multiprocessor reads from the L2 cache, or all of them do, then
//! holds its tensor cores up. Two such blocks that compute neighbouring tiles of a column of tiles want the same part of B. As a cluster
//! of two they load half of it each, by copies that write to both. So a stage is empty when the warps of both blocks are done with it, and
//! full when the copies of both have come.
//!
//! # Source
//! Beyond the sources; for such copies see the PTX ISA, "cp.async.bulk.tensor", `.multicast::cluster`.

use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::wgmma::stage::{self, StageCoord, TensorMaps, block_k};
use cuda_std::cluster;
use cuda_std::tma;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR};

/// Blocks of a pair.
pub const CLUSTER_SIZE: u32 = 2;

/// Blocks that load B together, of so many consumers that mma: those of one are pairs.
pub const fn cluster_size(consumers: usize) -> u32 {
    if consumers == 1 { CLUSTER_SIZE } else { 1 }
}

/// Rows of a box of B, of `whole` that a block uses: of what each block fetches.
pub const fn box_rows(whole: u32, blocks: u32) -> u32 {
    whole / blocks
}

/// Copies for both blocks.
const ALL_BLOCKS: u16 = (1 << CLUSTER_SIZE) - 1;

/// Starts to copy the tiles of the pipeline's stage as [`stage::load`] does; where the stage is one of a pair, half of B, to both blocks.
///
/// # Safety
/// As for [`stage::load`], with boxes of B of [`box_rows`]. Nobody in both blocks uses the stage any more.
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
    place: StageCoord,
) {
    let (stage, full) = (pipeline.stage(), pipeline.full());
    if R::CLUSTER_SIZE == 1 {
        // SAFETY: passed on to the caller.
        return unsafe { stage::load::<E, CONSUMERS, A, B>(stage, maps, place, full) };
    }
    let whole = if B == K_MAJOR {
        place.loaded[1]
    } else {
        block_k(E::BYTES) as u32
    };
    let first = cluster::block_rank() * box_rows(whole, CLUSTER_SIZE);
    let to = stage::place_of_b(stage, CONSUMERS).at(first * stage::ROW_BYTES as u32);
    let coord = match B {
        K_MAJOR => [place.left + first, place.start],
        _ => [place.left, place.start + first],
    };
    // SAFETY: passed on to the caller.
    unsafe {
        stage::load_a::<E, A>(stage, maps, place, full);
        let map = &raw const (*maps).b;
        stage::each_box::<E, B>(to, coord, place.loaded[1], |to, [column, row]| {
            tma::load_3d_multicast(to, map, [column, row, place.matrices[1]], full, ALL_BLOCKS);
        });
    }
}

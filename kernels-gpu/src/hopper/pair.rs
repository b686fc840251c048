//! Pairs of blocks, one below the other, that fetch B together.
//!
//! A block of one warpgroup has few rows to each column of B: what a multiprocessor reads from the L2 cache, or all of them do, then
//! holds its tensor cores up. Two such blocks that compute neighbouring tiles of a column of tiles want the same part of B. As a cluster
//! of two they fetch half of it each, by copies that write to both. So a stage is empty when the warps of both blocks are done with it, and
//! full when the copies of both have come.
//!
//! # Source
//! Beyond the sources; for such copies see the PTX ISA, "cp.async.bulk.tensor", `.multicast::cluster`.

use super::ring::{Ring, Stages};
use super::tiles::{self, Maps, Place, depth};
use cuda_std::cluster;
use cuda_std::tma;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR};

/// Blocks of a pair.
pub const BLOCKS: u32 = 2;

/// Blocks that fetch B together, of so many warpgroups that multiply: those of one are pairs.
pub const fn blocks(warpgroups: usize) -> u32 {
    if warpgroups == 1 { BLOCKS } else { 1 }
}

/// Rows of a box of B, of `whole` that a block uses: of what each block fetches.
pub const fn box_rows(whole: u32, blocks: u32) -> u32 {
    whole / blocks
}

/// Copies for both blocks.
const BOTH: u16 = (1 << BLOCKS) - 1;

/// Starts to copy the tiles of the ring's stage as [`tiles::fetch`] does; where the stage is one of a pair, half of B, to both blocks.
///
/// # Safety
/// As for [`tiles::fetch`], with boxes of B of [`box_rows`]. Nobody in both blocks uses the stage any more.
#[inline(always)]
pub unsafe fn fetch<
    E: Input,
    S: Accumulator,
    R: Stages,
    const WARPGROUPS: usize,
    const A: i32,
    const B: i32,
>(
    ring: &Ring<R>,
    maps: *const Maps,
    place: Place,
) {
    let (stage, full) = (ring.stage(), ring.full());
    if R::BLOCKS == 1 {
        // SAFETY: passed on to the caller.
        return unsafe { tiles::fetch::<E, WARPGROUPS, A, B>(stage, maps, place, full) };
    }
    let whole = if B == K_MAJOR {
        place.fetched[1]
    } else {
        depth(E::BYTES) as u32
    };
    let first = cluster::block_rank() * box_rows(whole, BLOCKS);
    let to = tiles::place_of_b(stage, WARPGROUPS).at(first * tiles::ROW_BYTES as u32);
    let corner = match B {
        K_MAJOR => [place.left + first, place.start],
        _ => [place.left, place.start + first],
    };
    // SAFETY: passed on to the caller.
    unsafe {
        tiles::fetch_a::<E, A>(stage, maps, place, full);
        let map = &raw const (*maps).b;
        tiles::each_box::<E, B>(to, corner, place.fetched[1], |to, [column, row]| {
            tma::load_3d_multicast(to, map, [column, row, place.matrices[1]], full, BOTH);
        });
    }
}

//! `scan_warp`: four elements in registers, 32 lanes by shuffles, eight warps in shared memory.
//!
//! # Idea
//! Each level of the machine scans what it holds. A thread scans four elements, which came in one
//! load, with three additions. A warp scans the sums of its lanes by shuffles, without barriers and
//! banks. Only the sums of the eight warps pass through shared memory. What is left of n log n are
//! five steps for every fourth element.
//!
//! # Thread mapping
//! Thread t of block b has elements 1,024 b + 4 t to 1,024 b + 4 t + 3.
//!
//! # Preconditions
//! None; the arrays are aligned to 16 bytes (every allocation is). Launches as the [family](super)
//! says.
//!
//! # What changed since the rung before
//! Against `scan_blelloch`: shared memory holds eight words instead of 512, with one barrier.
//!
//! # Source
//! Beyond the sources. Sengupta, Harris and Garland, "Efficient parallel scan algorithms for GPUs",
//! 2008.

use super::{BLOCK, ROUND, Tile};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Elements of a tile.
pub const TILE: usize = ROUND;

/// 256 threads for 1,024 elements: of the first launch.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: TILE as u32,
};

// ANCHOR: kernel
/// Scans each tile, and stores its sum.
///
/// # Safety
/// As for [`scan_hillis_steele_tiles`](super::scan_hillis_steele::scan_hillis_steele_tiles), with
/// the [`GEOMETRY`] here; the arrays are aligned to 16 bytes.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_warp_tiles(input: &[u32], output: *mut u32, sums: *mut u32) {
    let block = thread::block_idx_x() as usize;
    let first = block * TILE;
    // SAFETY: all threads of the block are here, and no other block has the tile.
    unsafe {
        let tile = Tile::<1>::scan(input, first);
        tile.store(output, input.len(), first, 0);
        if thread::thread_idx_x() == 0 {
            *sums.add(block) = tile.sum;
        }
    }
}
// ANCHOR_END: kernel

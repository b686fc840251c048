//! `scan_blelloch`: up a tree and down again, with as many additions as elements.
//!
//! # Idea
//! Upwards, partial sums are added in pairs, as in a reduction: n - 1 additions. Downwards, each
//! node hands its left child what it got itself, the sum of all before it, and its right child that
//! and the left child's sum: n - 1 again. 2 n additions instead of n log n, in twice as many steps,
//! in most of which few threads have work.
//!
//! Nodes of a level lie further and further apart, in ever fewer banks: from the fifth level on a
//! warp's accesses all go to one bank. The counters show it.
//!
//! # Thread mapping
//! Thread t of block b loads elements 512 b + t and 512 b + 256 + t. On a level with w nodes
//! thread t < w has node t.
//!
//! # Preconditions
//! None. Launches as the [family](super) says.
//!
//! # What changed since the rung before
//! Against `scan_hillis_steele`: the order of additions, and two elements a thread.
//!
//! # Source
//! Beyond the sources. Blelloch, "Prefix sums and their applications", 1990; Harris, Sengupta and
//! Owens, "Parallel prefix sum (scan) with CUDA", GPU Gems 3, 2007.

use super::BLOCK;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Elements of a tile: two a thread.
pub const TILE: usize = 2 * BLOCK;

// Each level halves the nodes.
const _: () = assert!(TILE.is_power_of_two());

/// 256 threads for 512 elements: of the first launch.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: TILE as u32,
};

// ANCHOR: kernel
/// Scans each tile, and stores its sum.
///
/// # Safety
/// As for [`scan_hillis_steele_tiles`](super::scan_hillis_steele::scan_hillis_steele_tiles), with
/// the [`GEOMETRY`] here.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_blelloch_tiles(input: &[u32], output: *mut u32, sums: *mut u32) {
    let tree = shared_array![u32; TILE];
    let block = thread::block_idx_x() as usize;
    let t = thread::thread_idx_x() as usize;
    let offsets = [t, t + BLOCK];
    let mut own = [0; 2];
    // SAFETY: elements are inside of the arrays by the tests. Each node of a level has one thread,
    // and a barrier lies between levels.
    unsafe {
        for e in 0..2 {
            let i = block * TILE + offsets[e];
            if i < input.len() {
                own[e] = *input.get_unchecked(i);
            }
            *tree.add(offsets[e]) = own[e];
        }
        let mut distance = 1;
        while distance < TILE {
            thread::sync_threads();
            let right = (2 * t + 2) * distance;
            if right <= TILE {
                let left = *tree.add(right - distance - 1);
                let both = (*tree.add(right - 1)).wrapping_add(left);
                *tree.add(right - 1) = both;
            }
            distance *= 2;
        }
        if t == 0 {
            // The root: this thread has just written it. Nothing lies before all elements.
            *sums.add(block) = *tree.add(TILE - 1);
            *tree.add(TILE - 1) = 0;
        }
        while distance > 1 {
            distance /= 2;
            thread::sync_threads();
            let right = (2 * t + 2) * distance;
            if right <= TILE {
                let before = *tree.add(right - 1);
                let left = *tree.add(right - distance - 1);
                *tree.add(right - distance - 1) = before;
                *tree.add(right - 1) = before.wrapping_add(left);
            }
        }
        thread::sync_threads();
        for e in 0..2 {
            let i = block * TILE + offsets[e];
            if i < input.len() {
                *output.add(i) = (*tree.add(offsets[e])).wrapping_add(own[e]);
            }
        }
    }
}
// ANCHOR_END: kernel

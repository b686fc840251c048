//! `scan_hillis_steele`: log n steps, each over all elements.
//!
//! # Idea
//! In the step of distance d each element adds the one d before it. After steps 1, 2, 4, … each
//! holds the sum of as many elements before it, up to all. Eight steps scan 256 elements, but each
//! step is 256 additions: n log n in all, where one thread needs n.
//!
//! A step must not overwrite what another thread still reads. With two buffers in shared memory,
//! read from one and written to the other in turn, one barrier a step is enough.
//!
//! # Thread mapping
//! Thread t of block b has element 256 b + t.
//!
//! # Preconditions
//! None. Launches as the [family](super) says.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources. Hillis and Steele, "Data parallel algorithms", 1986.

use super::BLOCK;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Elements of a tile.
pub const TILE: usize = BLOCK;

/// 256 threads, one element each: of the first launch.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: TILE as u32,
};

// ANCHOR: kernel
/// Scans each tile, and stores its sum.
///
/// # Safety
/// `input` and `output` are device arrays of the same number of elements that do not overlap;
/// `sums` has an element for each block; the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_hillis_steele_tiles(input: &[u32], output: *mut u32, sums: *mut u32) {
    let buffers = shared_array![u32; 2 * TILE];
    let block = thread::block_idx_x() as usize;
    let t = thread::thread_idx_x() as usize;
    let i = block * TILE + t;
    // SAFETY: elements are inside of the arrays by the tests. A step reads what others wrote in the
    // step before, and writes the buffer that they read then; a barrier lies between.
    unsafe {
        let mut sum = if i < input.len() {
            *input.get_unchecked(i)
        } else {
            0
        };
        let (mut from, mut to) = (buffers, buffers.add(TILE));
        *from.add(t) = sum;
        let mut distance = 1;
        while distance < TILE {
            thread::sync_threads();
            if t >= distance {
                sum = sum.wrapping_add(*from.add(t - distance));
            }
            *to.add(t) = sum;
            (from, to) = (to, from);
            distance *= 2;
        }
        if i < input.len() {
            *output.add(i) = sum;
        }
        if t == TILE - 1 {
            *sums.add(block) = sum;
        }
    }
}
// ANCHOR_END: kernel

//! `scan_add`: the last of three launches, in which each element gets the sum of the tiles before
//! its own.

use super::BLOCK;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads, one element each.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

/// Adds the sum of all tiles before its own to each of `m` · `n` elements.
///
/// # Safety
/// `output` is a device array of `m` · `n` elements, and `sums` has one for each tile of `tile`
/// elements; the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_add(output: *mut u32, sums: *const u32, tile: u32, m: u32, n: u32) {
    let block = thread::block_idx_x() as usize;
    let i = block * BLOCK + thread::thread_idx_x() as usize;
    if i < m as usize * n as usize {
        // SAFETY: the element is inside of the output, and no other thread has it.
        unsafe {
            let sum = *sums.add(i / tile as usize);
            *output.add(i) = (*output.add(i)).wrapping_add(sum);
        }
    }
}

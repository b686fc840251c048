//! `stencil_2d`: 25 loads for each output.
//!
//! # Idea
//! In two dimensions an input is in 25 sums, of which those of other rows belong to other warps,
//! and at the edge of a block to other blocks. The L1 cache has most of them; the load units issue
//! all 25.
//!
//! # Thread mapping
//! Thread (x, y) of a block of 32 × 8 computes the output of column 32 bx + x and row 8 by + y: a
//! warp has a row.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! The first rung in two dimensions.
//!
//! # Source
//! Beyond the sources.

use super::{RADIUS_2D, WEIGHTS_2D};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Threads of a block in each direction.
const THREADS: [usize; 2] = [32, 8];

/// 32 × 8 threads, one output each.
pub const GEOMETRY: Geometry = Geometry::tiles(THREADS, THREADS).along_rows();

// ANCHOR: kernel
/// The weighted sum around each element.
///
/// # Safety
/// `input` and `output` are row-major device arrays of `height` rows of `width` elements that do
/// not overlap; the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn stencil_2d(input: &[f32], output: *mut f32, width: u32, height: u32) {
    let (width, height) = (width as usize, height as usize);
    let row = thread::block_idx_x() as usize * THREADS[1] + thread::thread_idx_y() as usize;
    let column = thread::block_idx_y() as usize * THREADS[0] + thread::thread_idx_x() as usize;
    if row >= height || column >= width {
        return;
    }
    let mut sum = 0.0;
    for dy in 0..WEIGHTS_2D.len() {
        for dx in 0..WEIGHTS_2D.len() {
            // Before the first row or column these wrap around, to more than there are.
            let y = (row + dy).wrapping_sub(RADIUS_2D);
            let x = (column + dx).wrapping_sub(RADIUS_2D);
            if y < height && x < width {
                // SAFETY: the test.
                let element = unsafe { *input.get_unchecked(y * width + x) };
                let weight = WEIGHTS_2D[dy] * WEIGHTS_2D[dx];
                sum = GpuFloat::mul_add(element, weight, sum);
            }
        }
    }
    // SAFETY: inside of the output, and no other thread has this element.
    unsafe { *output.add(row * width + column) = sum };
}
// ANCHOR_END: kernel

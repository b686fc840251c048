//! `stencil_1d_shared`: a tile with a halo in shared memory.
//!
//! # Idea
//! A block of 256 outputs needs 264 inputs: its own, and four on each side, which are its *halo*.
//! It loads them once to shared memory. Each thread then reads nine words there, with neighbouring
//! lanes at neighbouring words: no bank conflicts, and no address is off a line.
//!
//! # Thread mapping
//! Thread t of block b computes output 256 b + t, and loads inputs 256 b - 4 + t and, where t < 8,
//! 256 b + 252 + t.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `stencil_1d`: inputs come from shared memory, after one barrier.
//!
//! # Source
//! Beyond the sources.

use super::{BLOCK, RADIUS_1D, WEIGHTS_1D};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads, one output each.
pub const GEOMETRY: Geometry = super::stencil_1d::GEOMETRY;

/// Inputs of a block: its own and the halo.
const TILE: usize = BLOCK + 2 * RADIUS_1D;

// Two loads a thread are enough.
const _: () = assert!(TILE <= 2 * BLOCK);

// ANCHOR: kernel
/// The weighted sum around each element.
///
/// # Safety
/// As for [`stencil_1d`](super::stencil_1d::stencil_1d).
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn stencil_1d_shared(input: &[f32], output: *mut f32) {
    let tile = shared_array![f32; TILE];
    let first = thread::block_idx_x() as usize * BLOCK;
    let t = thread::thread_idx_x() as usize;
    // SAFETY: inputs are inside of the array by the test, and offsets inside of the tile. Each
    // offset has one thread before the barrier. No other thread has the output.
    unsafe {
        let mut offset = t;
        while offset < TILE {
            // Before the first element this wraps around, to more than there are.
            let from = (first + offset).wrapping_sub(RADIUS_1D);
            *tile.add(offset) = if from < input.len() {
                *input.get_unchecked(from)
            } else {
                0.0
            };
            offset += BLOCK;
        }
        thread::sync_threads();
        let mut sum = 0.0;
        for d in 0..WEIGHTS_1D.len() {
            sum = GpuFloat::mul_add(*tile.add(t + d), WEIGHTS_1D[d], sum);
        }
        if first + t < input.len() {
            *output.add(first + t) = sum;
        }
    }
}
// ANCHOR_END: kernel

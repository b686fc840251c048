//! `add_one`: a grid-stride loop, the smallest kernel with an interval.
//!
//! # Idea
//! Each round of the loop loads an element, adds 1 and stores it: one interval whose latency is
//! that of a load, an addition and a store. The threads in flight, times 8 bytes, over that latency
//! is the bandwidth that the kernel can ask for.
//!
//! # Thread mapping
//! Thread t of the grid takes elements t, t + T, t + 2 T, …, where T is the number of threads. Any
//! grid will do.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! 002 (the example of interval analysis): L = 410 cycles on a CC 6.1 part, 417 with its real
//! machine code.

use super::BLOCK;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads a block, as many blocks as the launch likes.
pub const GEOMETRY: Geometry = Geometry::GridStride {
    block: BLOCK as u32,
};

// ANCHOR: kernel
/// `output[h] = input[h] + 1` for every h.
///
/// # Safety
/// `input` and `output` are device arrays of the same number of elements; the grid and block are
/// one-dimensional.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn add_one(input: &[f32], output: *mut f32) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut h = thread::index_1d() as usize;
    while h < input.len() {
        // SAFETY: h is inside of both, and no other thread takes this element.
        unsafe { *output.add(h) = *input.get_unchecked(h) + 1.0 };
        h += threads;
    }
}
// ANCHOR_END: kernel

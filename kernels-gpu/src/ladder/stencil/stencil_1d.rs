//! `stencil_1d`: nine loads for each output.
//!
//! # Idea
//! Neighbouring outputs share eight of nine inputs. The kernel does not care: each thread loads all
//! nine. DRAM sees an element once, since the L1 cache has it for the other eight, but the load
//! units issue nine times as many loads as there are elements, and most of these warps' addresses
//! are not aligned.
//!
//! # Thread mapping
//! Thread t of block b computes output 256 b + t.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources.

use super::{BLOCK, RADIUS_1D, WEIGHTS_1D};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads, one output each.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

// ANCHOR: kernel
/// The weighted sum around each element.
///
/// # Safety
/// `input` and `output` are device arrays of the same number of elements that do not overlap; the
/// grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn stencil_1d(input: &[f32], output: *mut f32) {
    let block = thread::block_idx_x() as usize;
    let i = block * BLOCK + thread::thread_idx_x() as usize;
    if i >= input.len() {
        return;
    }
    let mut sum = 0.0;
    for d in 0..WEIGHTS_1D.len() {
        // Before the first element this wraps around, to more than there are.
        let from = (i + d).wrapping_sub(RADIUS_1D);
        if from < input.len() {
            // SAFETY: the test.
            let x = unsafe { *input.get_unchecked(from) };
            sum = GpuFloat::mul_add(x, WEIGHTS_1D[d], sum);
        }
    }
    // SAFETY: inside of the output, as of the input, and no other thread has this element.
    unsafe { *output.add(i) = sum };
}
// ANCHOR_END: kernel

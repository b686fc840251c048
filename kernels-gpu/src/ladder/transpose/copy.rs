//! `copy`: a straight copy in 32 × 32 tiles, the ceiling of transposes with one element a thread.
//!
//! # Idea
//! A transpose does no arithmetic. This kernel moves the same bytes without transposing them, with
//! the block shape of the transposes: those that move one element a thread can be no faster.
//! [`transpose_fast`](mod@super::transpose_fast) moves vectors, and is twice as fast as this copy.
//!
//! # Thread mapping
//! x → column, y → row, a block of 32 × 32 threads, one element each: loads and stores are
//! coalesced.
//!
//! # Preconditions
//! Width and height are multiples of 32.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! 003 ("Simple Copy Kernel"): 60.9 GB/s on one GPU of an S2050, 2048 × 2048.

use super::{Size, TILE};
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
pub(crate) unsafe fn body(input: &[f32], output: *mut f32, size: Size) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let index = y as usize * size.width + x as usize;
    // SAFETY: inside of both arrays because width and height are multiples of TILE.
    unsafe { *output.add(index) = *input.get_unchecked(index) };
}
// ANCHOR_END: body

transpose_kernels! {
    /// Copies `input` to `output` as it is.
    copy, f32, max_threads TILE * TILE => body;
}

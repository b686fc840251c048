//! `transpose_coalesced`: through a shared tile, both sides coalesced.
//!
//! # Idea
//! The transposition happens in shared memory. A block loads a 32 × 32 tile by rows, and stores it
//! by rows of the output; in between every warp reads a *column* of the tile. Its 32 elements are
//! 32 words apart, which is the same bank 32 times: a 32-way bank conflict, 32 wavefronts instead
//! of 1.
//!
//! # Thread mapping
//! x → column and y → row of the input tile while loading, of the output tile while storing; a
//! block of 32 × 32 threads, one element each.
//!
//! # Preconditions
//! Width and height are multiples of 32.
//!
//! # What changed since the rung before
//! Against `transpose_naive`: the tile in shared memory with a barrier between load and store.
//!
//! # Source
//! 003 ("Coalesced Transpose"): 24.1 GB/s on one GPU of an S2050: hardly more than 22.4.

use super::{Size, TILE, through_shared_tile};

// ANCHOR: body
#[inline(always)]
pub(crate) unsafe fn body(input: &[f32], output: *mut f32, size: Size) {
    let word = |row, column| row * TILE + column;
    // SAFETY: the contract is the kernel's; the words of a dense tile are distinct.
    unsafe { through_shared_tile::<{ TILE * TILE }>(input, output, size, word) }
}
// ANCHOR_END: body

transpose_kernels! {
    /// Transposes `input` into `output` through a 32 × 32 tile.
    transpose_coalesced, f32, max_threads TILE * TILE => body;
}

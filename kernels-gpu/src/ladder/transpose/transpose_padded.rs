//! `transpose_padded`: the shared tile with one column of padding.
//!
//! # Idea
//! With rows of 33 words the elements of a tile column lie in 32 different banks: element (r, c) is
//! in bank (33 r + c) mod 32 = (r + c) mod 32. Reading a column costs one wavefront, as reading a
//! row does.
//!
//! # Thread mapping
//! As in `transpose_coalesced`.
//!
//! # Preconditions
//! Width and height are multiples of 32.
//!
//! # What changed since the rung before
//! Against `transpose_coalesced`: 33 instead of 32 words per row of the tile, 4,224 bytes instead
//! of 4,096.
//!
//! # Source
//! 003 ("Avoiding Bank Conflict"): 46.6 GB/s on one GPU of an S2050, against 24.1.

use super::{Size, TILE, through_shared_tile};

/// Distance of two rows of the tile in words: 33, coprime to the 32 banks.
const PITCH: usize = TILE + 1;

// ANCHOR: body
#[inline(always)]
pub(crate) unsafe fn body(input: &[f32], output: *mut f32, size: Size) {
    let word = |row, column| row * PITCH + column;
    // SAFETY: the contract is the kernel's; rows do not overlap because PITCH > TILE.
    unsafe { through_shared_tile::<{ TILE * PITCH }>(input, output, size, word) }
}
// ANCHOR_END: body

transpose_kernels! {
    /// Transposes `input` into `output` through a 32 × 33 tile.
    transpose_padded, f32, max_threads TILE * TILE => body;
}

//! `transpose_swizzled`: no padding, no bank conflicts.
//!
//! # Idea
//! Padding costs shared memory and breaks the alignment that vector accesses and asynchronous
//! copies want. A swizzle permutes the elements of each row instead: element (r, c) lies in word 32
//! r + (c XOR r), in bank c XOR r. Along a row c runs through all banks, along a column r does:
//! both are free of conflicts.
//!
//! # Thread mapping
//! As in `transpose_coalesced`.
//!
//! # Preconditions
//! Width and height are multiples of 32.
//!
//! # What changed since the rung before
//! Against `transpose_padded`: 4,096 bytes of shared memory again, and an XOR in the address.
//!
//! # Source
//! Beyond source 003; the layout that tensor-core kernels use.

use super::{Size, TILE, through_shared_tile};

// The XOR of two indices below a power of two stays below it.
const _: () = assert!(TILE.is_power_of_two());

// ANCHOR: body
#[inline(always)]
pub(crate) unsafe fn body(input: &[f32], output: *mut f32, size: Size) {
    let word = |row, column| row * TILE + (column ^ row);
    // SAFETY: the contract is the kernel's; within a row the XOR is a permutation.
    unsafe { through_shared_tile::<{ TILE * TILE }>(input, output, size, word) }
}
// ANCHOR_END: body

transpose_kernels! {
    /// Transposes `input` into `output` through a swizzled 32 × 32 tile.
    transpose_swizzled, f32, max_threads TILE * TILE => body;
}

//! `transpose_naive`: coalesced loads, strided stores.
//!
//! # Idea
//! The copy with the output's indices swapped. A warp still loads 32 neighbouring elements, but
//! stores them `height` elements apart: 32 sectors of 32 bytes, of which 4 bytes each are wanted.
//!
//! # Thread mapping
//! x → column of the input, y → row of the input, a block of 32 × 32 threads, one element each.
//!
//! # Preconditions
//! Width and height are multiples of 32.
//!
//! # What changed since the rung before
//! Against `copy`: the store goes to (column, row).
//!
//! # Source
//! 003 ("Naive Transpose"): 22.4 GB/s on one GPU of an S2050, against 60.9 for `copy`.

use super::{Size, TILE};
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
pub(crate) unsafe fn body(input: &[f32], output: *mut f32, size: Size) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (col, row) = (x as usize, y as usize);
    let from = row * size.width + col;
    let to = col * size.height + row;
    // SAFETY: inside of both arrays because width and height are multiples of TILE.
    unsafe { *output.add(to) = *input.get_unchecked(from) };
}
// ANCHOR_END: body

transpose_kernels! {
    /// Transposes `input` into `output` with strided stores.
    transpose_naive, f32, max_threads TILE * TILE => body;
}

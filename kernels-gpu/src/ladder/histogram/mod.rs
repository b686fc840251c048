//! The histogram of the lowest eight bits of an array of `u32`: how many elements have each of 256
//! values.
//!
//! | file | rungs |
//! |---|---|
//! | [`histogram_global`](mod@histogram_global) | `histogram_global` |
//! | [`histogram_shared`](mod@histogram_shared) | `histogram_shared` |
//! | [`histogram_warp`](mod@histogram_warp) | `histogram_warp` |
//!
//! It is the first step of a radix sort, and each pass of one needs it. All rungs add to the
//! output, which is cleared by a launch before, [`histogram_clear`](mod@histogram_clear). Counts
//! are integers: every rung gives the same ones.

use super::block::VECTOR;

/// Bins, and threads of a block in this family: a thread of a block clears and adds one bin.
pub const BINS: usize = 256;

/// Threads of a block.
pub const BLOCK: usize = BINS;

/// 128-bit loads of a thread in the rungs with a histogram for each block.
const VECTORS: usize = 4;

/// Elements of a block in these rungs: 4,096.
pub const VECTORS_BLOCK: usize = BLOCK * VECTORS * VECTOR;

/// The bin of an element.
#[inline(always)]
pub fn bin(element: u32) -> usize {
    element as usize % BINS
}

pub mod histogram_clear;
pub mod histogram_global;
pub mod histogram_shared;
pub mod histogram_warp;

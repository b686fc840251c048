//! `wolfe_k2_w32`, `wolfe_k2_w64`, `wolfe_k2_w128`, `wolfe_k2_w64_k2`: a strip of B in shared
//! memory.
//!
//! # Idea
//! In K1 every thread of a block loads the same element of B in each round. K2 strip-mines the loop
//! over k as well: the W threads load W elements of B's column together, one each and coalesced,
//! and then read them from shared memory. One global load per multiply-add is left, that of A.
//!
//! # Thread mapping
//! As in K1: a block of W threads, thread → i, grid x → strips of i, grid y → j.
//!
//! # Preconditions
//! m and k are multiples of W.
//!
//! # What changed since the rung before
//! Against `wolfe_k1`: the strip, with a barrier before it is read and one before it is
//! overwritten. `_k2` does two multiply-adds in each round of the inner loop.
//!
//! # Source
//! 004: 33, 55 and 63 GFLOP/s with W = 32, 64 and 128; 63 with W = 64 and k unrolled once.

use super::strip;
use crate::geometry::Geometry;

/// Geometry of `wolfe_k2_w…`: `width` threads for as many rows of one column of C; 4 · `width`
/// bytes of shared memory.
pub const fn geometry(width: usize) -> Geometry {
    super::geometry(width, 1, 1)
}

// ANCHOR: kernels
column_major_kernels! {
    /// K2 with 32 threads in a block.
    wolfe_k2_w32, (max_threads = 32, min_blocks = 1) => strip::<32, 1, 1, 1>;
    /// K2 with 64 threads in a block.
    wolfe_k2_w64, (max_threads = 64, min_blocks = 1) => strip::<64, 1, 1, 1>;
    /// K2 with 64 threads in a block, two multiply-adds a round.
    wolfe_k2_w64_k2, (max_threads = 64, min_blocks = 1) => strip::<64, 1, 1, 2>;
    /// K2 with 128 threads in a block.
    wolfe_k2_w128, (max_threads = 128, min_blocks = 1) => strip::<128, 1, 1, 1>;
}
// ANCHOR_END: kernels

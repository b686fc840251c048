//! `wolfe_k3_w32_i2`, `wolfe_k3_w32_i4`, `wolfe_k3_w64_i2`: the loop over i unrolled.
//!
//! # Idea
//! A thread computes I elements of a column of C, W rows apart. They share the element of B, which
//! comes from shared memory and was cheap already; each still needs its own element of A. What is
//! gained is independent work in a thread and less loop overhead for each multiply-add.
//!
//! # Thread mapping
//! A block of W threads; thread → rows i, i + W, …, i + (I - 1) · W of a strip of W · I rows.
//!
//! # Preconditions
//! m is a multiple of W · I, k of W.
//!
//! # What changed since the rung before
//! Against `wolfe_k2`: I accumulators in a thread.
//!
//! # Source
//! 004: 53 GFLOP/s with W = 32 and I = 2 (33 for K2 with W = 32); 63 with I = 4 or W = 64.

use super::strip;
use crate::geometry::Geometry;

/// Geometry of `wolfe_k3_w…_i…`: `width` threads for `width` · `rows` rows of one column of C.
pub const fn geometry(width: usize, rows: usize) -> Geometry {
    super::geometry(width, rows, 1)
}

// ANCHOR: kernels
column_major_kernels! {
    /// K3 with 32 threads, 2 rows each.
    wolfe_k3_w32_i2, (max_threads = 32, min_blocks = 1) => strip::<32, 2, 1, 1>;
    /// K3 with 32 threads, 4 rows each.
    wolfe_k3_w32_i4, (max_threads = 32, min_blocks = 1) => strip::<32, 4, 1, 1>;
    /// K3 with 64 threads, 2 rows each.
    wolfe_k3_w64_i2, (max_threads = 64, min_blocks = 1) => strip::<64, 2, 1, 1>;
}
// ANCHOR_END: kernels

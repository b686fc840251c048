//! `wolfe_k4_w32_j2` … `wolfe_k4_w128_j4_k4`: the loop over j unrolled.
//!
//! # Idea
//! A thread computes J elements of a row of C. They share the element of A, the one operand that
//! still came from global memory: one global load now feeds J multiply-adds. Unrolling k on top of
//! it saves loop overhead.
//!
//! # Thread mapping
//! A block of W threads; thread → row i, columns j to j + J - 1; grid y → groups of J columns.
//!
//! # Preconditions
//! m and k are multiples of W, n of J.
//!
//! # What changed since the rung before
//! Against `wolfe_k3`: J strips of B in shared memory and J accumulators in a thread instead of I
//! rows.
//!
//! # Source
//! 004: J = 2 gives 59, 98 and 117 GFLOP/s with W = 32, 64 and 128; J = 4 gives 176 with W = 128,
//! 202 with k unrolled once, 208 with k unrolled three times (265 for the kernel alone).

use super::strip;
use crate::geometry::Geometry;

/// Geometry of `wolfe_k4_w…_j…`: `width` threads for as many rows and `columns` columns of C;
/// 4 · `width` · `columns` bytes of shared memory, 2,048 for W = 128 and J = 4.
pub const fn geometry(width: usize, columns: usize) -> Geometry {
    super::geometry(width, 1, columns)
}

// ANCHOR: kernels
column_major_kernels! {
    /// K4 with 32 threads, 2 columns each.
    wolfe_k4_w32_j2, (max_threads = 32, min_blocks = 1) => strip::<32, 1, 2, 1>;
    /// K4 with 64 threads, 2 columns each.
    wolfe_k4_w64_j2, (max_threads = 64, min_blocks = 1) => strip::<64, 1, 2, 1>;
    /// K4 with 128 threads, 2 columns each.
    wolfe_k4_w128_j2, (max_threads = 128, min_blocks = 1) => strip::<128, 1, 2, 1>;
    /// K4 with 128 threads, 4 columns each.
    wolfe_k4_w128_j4, (max_threads = 128, min_blocks = 1) => strip::<128, 1, 4, 1>;
    /// K4 with 128 threads, 4 columns each, k unrolled to 2.
    wolfe_k4_w128_j4_k2, (max_threads = 128, min_blocks = 1) => strip::<128, 1, 4, 2>;
    /// K4 with 128 threads, 4 columns each, k unrolled to 4.
    wolfe_k4_w128_j4_k4, (max_threads = 128, min_blocks = 1) => strip::<128, 1, 4, 4>;
}
// ANCHOR_END: kernels

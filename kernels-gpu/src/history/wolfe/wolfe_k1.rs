//! `wolfe_ks`, `wolfe_k1_inverted`, `wolfe_k1_w32` … `wolfe_k1_w256`: one output per thread,
//! column-major.
//!
//! # Idea
//! The loop over i is strip-mined to the width W of a block, the strips and j run in parallel, and
//! each thread keeps one sum. Which index runs along the threads decides everything: with i, the
//! lanes of a warp read a contiguous piece of a column of A (stride 1); with j, 32 columns at once.
//!
//! # Thread mapping
//! A block of W threads. K1: thread → i (row), grid x → strips of i, grid y → j. Inverted: the same
//! with grid x → j and grid y → strips of i, so that blocks that run at the same time share rows of
//! A instead of a column of B. Ks: thread → j (column).
//!
//! # Preconditions
//! m is a multiple of W (n of 32 for `wolfe_ks`).
//!
//! # What changed since the rung before
//! From Ks to K1 the threads turn from columns to rows; from w32 to w256 a block gets more warps.
//!
//! # Source
//! 004: Ks 1.7 GFLOP/s; inverted 5.7; K1 28, 36, 35 and 35 with W = 32, 64, 128 and 256.

use crate::geometry::{Along, Geometry};
use crate::history::Pitched;
use cuda_std::hint::rolled;
use cuda_std::prelude::*;

/// Geometry of `wolfe_k1_w…`: a block of `width` threads for as many rows of one column of C.
pub const fn geometry(width: usize) -> Geometry {
    super::geometry(width, 1, 1)
}

/// Geometry of `wolfe_k1_inverted`: that of `wolfe_k1_w32` with x and y of the grid exchanged.
pub const GEOMETRY_INVERTED: Geometry = Geometry::Tiles {
    block: [32, 1, 1],
    tile: [1, 32],
    grid_x: Along::Columns,
};

/// Geometry of `wolfe_ks`: a block of 32 threads for as many columns of one row of C.
pub const GEOMETRY_KS: Geometry = Geometry::Tiles {
    block: [32, 1, 1],
    tile: [32, 1],
    grid_x: Along::Columns,
};

// ANCHOR: element
/// Computes element (i, j) of C.
///
/// # Safety
/// The contract of the kernels below; i < m, j < n, and no other thread computes this element.
#[inline(always)]
unsafe fn element(a: &[f32], b: &[f32], c: *mut f32, size: Pitched, i: usize, j: usize) {
    let mut sum = 0.0f32;
    let mut k = 0;
    while k < size.k {
        // SAFETY: i < m and j < n by the multiples and the grid, k < size.k.
        let (left, right) = unsafe {
            (
                *a.get_unchecked(i + size.lda * k),
                *b.get_unchecked(k + size.ldb * j),
            )
        };
        sum = left.mul_add(right, sum);
        k = rolled(k + 1);
    }
    // SAFETY: i < m and j < n by the multiples and the grid. No other thread writes this element.
    unsafe { *c.add(i + size.ldc * j) = sum };
}
// ANCHOR_END: element

// ANCHOR: k1
#[inline(always)]
unsafe fn k1<const W: usize>(a: &[f32], b: &[f32], c: *mut f32, size: Pitched) {
    let i = thread::block_idx_x() as usize * W + thread::thread_idx_x() as usize;
    let j = thread::block_idx_y() as usize;
    // SAFETY: i < m and j < n by the grid; the contract is the kernel's.
    unsafe { element(a, b, c, size, i, j) }
}
// ANCHOR_END: k1

// ANCHOR: inverted
#[inline(always)]
unsafe fn inverted(a: &[f32], b: &[f32], c: *mut f32, size: Pitched) {
    let i = thread::block_idx_y() as usize * 32 + thread::thread_idx_x() as usize;
    let j = thread::block_idx_x() as usize;
    // SAFETY: i < m and j < n by the grid; the contract is the kernel's.
    unsafe { element(a, b, c, size, i, j) }
}
// ANCHOR_END: inverted

// ANCHOR: ks
#[inline(always)]
unsafe fn ks(a: &[f32], b: &[f32], c: *mut f32, size: Pitched) {
    let i = thread::block_idx_y() as usize;
    let j = thread::block_idx_x() as usize * 32 + thread::thread_idx_x() as usize;
    // SAFETY: i < m and j < n by the grid; the contract is the kernel's.
    unsafe { element(a, b, c, size, i, j) }
}
// ANCHOR_END: ks

column_major_kernels! {
    /// Threads along columns of C: no access is stride 1.
    wolfe_ks, (max_threads = 32, min_blocks = 1) => ks;
    /// Threads along rows, blocks along columns first.
    wolfe_k1_inverted, (max_threads = 32, min_blocks = 1) => inverted;
    /// K1 with 32 threads in a block.
    wolfe_k1_w32, (max_threads = 32, min_blocks = 1) => k1::<32>;
    /// K1 with 64 threads in a block.
    wolfe_k1_w64, (max_threads = 64, min_blocks = 1) => k1::<64>;
    /// K1 with 128 threads in a block.
    wolfe_k1_w128, (max_threads = 128, min_blocks = 1) => k1::<128>;
    /// K1 with 256 threads in a block.
    wolfe_k1_w256, (max_threads = 256, min_blocks = 1) => k1::<256>;
}

//! `naive`: one thread computes one element of C.
//!
//! # Idea
//! The three loops of the textbook with the outer two spread over threads. Every thread walks a row
//! of A and a column of B in global memory and keeps its sum in a register: 2 loads of 4 bytes for
//! 2 FLOP, so 4 bytes per FLOP if no cache helped.
//!
//! # Thread mapping
//! x → column, y → row, blocks of 32 × 32. The 32 lanes of a warp share a row: they read the same
//! element of A (one broadcast) and 32 neighbouring elements of B (128 bytes, 4 sectors,
//! coalesced).
//!
//! # Preconditions
//! None: threads outside of C return at once. There is no barrier that they could miss.
//!
//! # What changed since the rung before
//! The first rung.
//!
//! # Source
//! 001 ("A Simple Matrix Multiplication Kernel"): 37.5 GFLOP/s by its bandwidth bound, about 25
//! measured. 000: 118 GFLOP/s in f64 on one GPU of a K80.

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Threads of a block in x and in y: 32, so that a warp is one row of the block.
pub const BLOCK: usize = 32;

/// One block for 32 × 32 elements of C.
pub const GEOMETRY: Geometry = Geometry::square(BLOCK);

// ANCHOR: body
#[inline(always)]
unsafe fn body<T: GpuFloat>(a: &[T], b: &[T], c: *mut T, m: usize, n: usize, k: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    // SAFETY: each thread of the grid has another row and column; arrays and sizes are the
    // kernel's.
    unsafe { element(a, b, c, [m, n, k], y as usize, x as usize) }
}
// ANCHOR_END: body

// ANCHOR: element
/// Computes element (`row`, `col`) of C, if there is one.
///
/// # Safety
/// The arrays have m × k, k × n and m × n elements; no other thread computes this element.
#[inline(always)]
pub(super) unsafe fn element<T: GpuFloat>(
    a: &[T],
    b: &[T],
    c: *mut T,
    [m, n, k]: [usize; 3],
    row: usize,
    col: usize,
) {
    if row >= m || col >= n {
        return;
    }
    let mut sum = T::ZERO;
    for i in 0..k {
        // SAFETY: row < m, i < k and col < n.
        let (left, right) =
            unsafe { (*a.get_unchecked(row * k + i), *b.get_unchecked(i * n + col)) };
        sum = left.mul_add(right, sum);
    }
    // SAFETY: row < m and col < n, and the contract says that no other thread computes this
    // element.
    unsafe { *c.add(row * n + col) = sum };
}
// ANCHOR_END: element

// ANCHOR: kernels
row_major_kernels! {
    /// One output per thread, x along the columns.
    naive, f32, (max_threads = (BLOCK * BLOCK) as u32, min_blocks = 1) => body;
    /// [`naive`] in double precision.
    naive_f64, f64, (max_threads = (BLOCK * BLOCK) as u32, min_blocks = 1) => body;
}
// ANCHOR_END: kernels

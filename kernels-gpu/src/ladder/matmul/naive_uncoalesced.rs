//! `naive_uncoalesced`: `naive` with the roles of x and y swapped.
//!
//! # Idea
//! The same arithmetic with the wrong index fastest. It shows what coalescing is worth: each load
//! of A and each store to C touches 32 rows, and so 32 sectors, of which 4 of 32 bytes are used.
//!
//! # Thread mapping
//! x → row, y → column, blocks of 32 × 32. The 32 lanes of a warp share a column: they read the
//! same element of B (one broadcast) and 32 elements of A that are k elements apart.
//!
//! # Preconditions
//! None: threads outside of C return at once.
//!
//! # What changed since the rung before
//! Against `naive`, row and column change places, nothing else.
//!
//! # Source
//! 000 ("Do memory accesses coalesce?"). 004 (kernel Ks, column-major): 1.7 GFLOP/s against 28.

use super::naive::element;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Threads of a block in x and in y.
pub const BLOCK: usize = 32;

/// One block for 32 × 32 elements of C, the grid's x along the rows.
pub const GEOMETRY: Geometry = Geometry::square(BLOCK).along_rows();

// ANCHOR: body
#[inline(always)]
unsafe fn body<T: GpuFloat>(a: &[T], b: &[T], c: *mut T, m: usize, n: usize, k: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    // SAFETY: each thread of the grid has another row and column; arrays and sizes are the
    // kernel's.
    unsafe { element(a, b, c, [m, n, k], x as usize, y as usize) }
}
// ANCHOR_END: body

row_major_kernels! {
    /// One output per thread, x along the rows.
    naive_uncoalesced, f32, (max_threads = (BLOCK * BLOCK) as u32, min_blocks = 1) => body;
    /// [`naive_uncoalesced`] in double precision.
    naive_uncoalesced_f64, f64, (max_threads = (BLOCK * BLOCK) as u32, min_blocks = 1) => body;
}

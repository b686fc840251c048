//! `spmv_thread`: a thread for a row.
//!
//! # Idea
//! One row, one output, one thread, as in a dense product. But neighbouring lanes have neighbouring
//! rows, whose elements lie a row's length apart, so that a load of a warp touches up to 32
//! sectors. And the warp is done when its longest row is: lanes with short rows wait.
//!
//! # Thread mapping
//! Thread t of block b has row 256 b + t.
//!
//! # Preconditions
//! Fewer than 2³² elements that are not 0, so that an offset fits.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources. Bell and Garland, "Implementing sparse matrix-vector multiplication on
//! throughput-oriented processors", 2009 ("CSR, scalar").

use super::{BLOCK, Csr};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads for 256 rows.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

// ANCHOR: body
#[inline(always)]
unsafe fn body(csr: Csr<'_>, output: *mut f32, rows: usize) {
    let row = thread::block_idx_x() as usize * BLOCK + thread::thread_idx_x() as usize;
    if row < rows {
        // SAFETY: there is such a row, and no other thread has it.
        unsafe { *output.add(row) = csr.dot(row, 0, 1) };
    }
}
// ANCHOR_END: body

spmv_kernels! {
    /// A thread for a row.
    spmv_thread => body;
}

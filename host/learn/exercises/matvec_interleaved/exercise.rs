//! # The layout is a choice
//!
//! In `matvec` neighbouring threads read elements that are a whole row apart: 32 sectors per load.
//! Here the matrix comes interleaved, that is by columns: first the first elements of all rows,
//! then the second ones.
//!
//! ```text
//! by rows       [ row 0: a b c | row 1: d e f ]
//! interleaved   [ a d | b e | c f ]                element (row, column) is at column * rows + row
//! ```
//!
//! # What to do
//!
//! The same product, from the interleaved matrix. See in the score how many sectors it takes now.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matvec_interleaved(
    matrix: *const f32,
    x: *const f32,
    y: *mut f32,
    rows: usize,
    columns: usize,
) {
    let row = thread::index_1d() as usize;
    // ---- your code: about 7 lines ----
}

//! # A warp for each row
//!
//! Where the matrix comes by rows and has to stay so, let the 32 lanes of a warp share a row: lane
//! l takes the columns l, l + 32, l + 64, ..., and neighbours read neighbours. In the end each lane
//! has a part of the sum, and shuffles add them up.
//!
//! ```text
//! row   [ 0 1 2 ... 31 | 0 1 2 ... 31 | 0 1 2 ]      the lane that takes each element
//! ```
//!
//! # What to do
//!
//! Compute `y`: warp w of the grid does row w. There may be more warps than rows.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matvec_warp(
    matrix: *const f32,
    x: *const f32,
    y: *mut f32,
    rows: usize,
    columns: usize,
) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    if row >= rows {
        // The whole warp leaves, since its lanes have the same row.
        return;
    }
    // ---- your code: about 14 lines ----
}

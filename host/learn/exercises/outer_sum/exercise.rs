//! # Every pair
//!
//! Array `a` has one element for each row of the output, `b` one for each column. Each element of
//! the output is the sum of its row's and its column's:
//!
//! ```text
//!              b   [ 0 | 1 | 2 | 3 | ... ]
//!  a [ 0 ]         [ . | . | . | . | ... ]
//!    [ 1 ]         [ . | . | x | . | ... ]     x = a[1] + b[2]
//!    [ 2 ]         [ . | . | . | . | ... ]
//! ```
//!
//! A warp reads 32 neighbours of `b`, and the same element of `a` in all lanes: one load brings one
//! element to the whole warp.
//!
//! # What to do
//!
//! Let `output[row * columns + column]` become `a[row] + b[column]`. The launch has more threads
//! than the output has elements: threads outside must touch nothing.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn outer_sum(
    a: *const f32,
    b: *const f32,
    output: *mut f32,
    rows: usize,
    columns: usize,
) {
    let column = thread::index_2d().x as usize;
    let row = thread::index_2d().y as usize;
    // ---- your code: about 3 lines ----
}

//! # A transpose
//!
//! Rows become columns: element (row, column) of the input is element (column, row) of the output.
//! The input has `rows` rows of `columns` elements, the output `columns` rows of `rows` elements.
//!
//! ```text
//! input                output
//! [ a | b | c ]        [ a | d ]
//! [ d | e | f ]        [ b | e ]
//!                      [ c | f ]
//! ```
//!
//! # What to do
//!
//! Transpose. Let x be the column of the input. A warp then reads neighbours and writes elements
//! that are `rows` apart; no choice of x and y makes both good. The exercises that follow do.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn transpose(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    // ---- your code: about 3 lines ----
}

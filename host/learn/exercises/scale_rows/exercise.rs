//! # Two dimensions
//!
//! Blocks and grids may have two dimensions. `thread::index_2d()` gives `.x` and `.y` of a thread
//! in the whole grid. A matrix lies in memory row after row ("row-major"):
//!
//! ```text
//!              column 0  1  2 ... columns - 1
//! row 0               0  1  2 ...
//! row 1         columns  ...
//! row 2       2 columns  ...            element (row, column) is at row * columns + column
//! ```
//!
//! # What to do
//!
//! Multiply each row of the matrix with its number: row 0 becomes 0, row 1 stays, row 2 is doubled,
//! .... Let x be the column and y the row: threads that are neighbours in x access neighbours in
//! memory. The grid is larger than the matrix in both directions.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn scale_rows(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    // ---- your code: about 5 lines ----
}

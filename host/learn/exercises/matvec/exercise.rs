//! # A matrix times a vector
//!
//! Each element of the product is the sum of a row of the matrix, element by element times the
//! vector.
//!
//! ```text
//! matrix, rows x columns       x          y
//! [ a | b | c ]              [ p ]      [ a p + b q + c r ]
//! [ d | e | f ]          *   [ q ]   =  [ d p + e q + f r ]
//!                            [ r ]
//! ```
//!
//! # What to do
//!
//! Let thread i compute `y[i]` for row i. Keep the sum in a variable, and write it once.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matvec(matrix: *const f32, x: *const f32, y: *mut f32, rows: usize, columns: usize) {
    let row = thread::index_1d() as usize;
    // ---- your code: about 7 lines ----
}

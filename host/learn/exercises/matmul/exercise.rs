//! # A matrix product
//!
//! C = A B, where A has m rows of k elements, B k rows of n, and C m rows of n. Element (row,
//! column) of C is row `row` of A times column `column` of B.
//!
//! ```text
//!                 B  k x n
//!               +----|-----+
//!               |    |     |
//!               |    v     |
//!               +----|-----+
//! A  m x k      C  m x n
//! +-------+     +----------+
//! |------>|     |    *     |
//! |       |     |          |
//! +-------+     +----------+
//! ```
//!
//! # What to do
//!
//! One thread for each element of C. Let x be the column: neighbouring threads then read
//! neighbouring elements of B, and the same element of A.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matmul(a: *const f32, b: *const f32, c: *mut f32, m: usize, n: usize, k: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    // ---- your code: about 8 lines ----
}

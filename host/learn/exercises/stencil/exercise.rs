//! # Neighbours
//!
//! A thread may read as many elements as it likes. At the ends of the array there is a neighbour on
//! one side only.
//!
//! ```text
//! input      [ 5 | 1 | 2 | ... | 7 | 3 ]
//! output[0] =  5 + 1
//! output[1] =  5 + 1 + 2
//! ```
//!
//! # What to do
//!
//! Let `output[i]` become the sum of `input[i - 1]`, `input[i]` and `input[i + 1]`, as far as these
//! exist.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn stencil(input: *const f32, output: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    // ---- your code: about 9 lines ----
}

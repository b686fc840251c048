//! # Another thread's element
//!
//! Which element a thread reads and which it writes is yours to choose.
//!
//! ```text
//! input   [ a | b | c | d | e ]
//!             \
//!              which thread writes b, and where?
//! output  [ e | d | c | b | a ]
//! ```
//!
//! # What to do
//!
//! Write the `n` elements of `input` to `output` in reverse order: the last becomes the first.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn reverse(input: *const f32, output: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    // ---- your code: about 3 lines ----
}

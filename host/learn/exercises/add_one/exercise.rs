//! # Add one to every element
//!
//! A kernel is a function that many threads execute at once. The launch says how many: here 5
//! blocks of 64 threads, 320 in all. Each of them runs `add_one` from top to bottom, and each takes
//! care of one element.
//!
//! ```text
//!             block 0            block 1                       block 4
//! thread   0   1  ...  63     0   1  ...  63     ...        0  ...  63
//!          |   |       |      |   |       |                 |       |
//! input  [ 0 | 1 | ... | 63 | 64| 65| ... |127|   ...     |256| ... |319]
//! ```
//!
//! `thread::index_1d()` is the number of the thread that asks, counted through all blocks: 0 to
//! 319.
//!
//! # What to do
//!
//! Let `output[i]` become `input[i] + 1.0`, where `i` is the thread's number. `input` and `output`
//! are pointers: `*input.add(i)` reads element `i`, and `*output.add(i) = x` writes it.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn add_one(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    // ---- your code: 1 line ----
}

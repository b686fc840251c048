//! # A sum, all together
//!
//! To sum 128 numbers with 128 threads takes 7 rounds: in each, the lower half of what is left adds
//! the upper half to itself.
//!
//! ```text
//! tile, 8 elements for example
//! [ a | b | c | d | e | f | g | h ]
//!   +---------------'                 half = 4: element t += element t + 4, for t < 4
//! [a+e|b+f|c+g|d+h| .   .   .   . ]
//!   +-------'                         half = 2
//! [...|...| .   .   .   .   .   . ]
//!   +---'                             half = 1
//! [sum| .   .   .   .   .   .   . ]
//! ```
//!
//! # What to do
//!
//! Each block of 128 threads sums its 128 elements of `input`, and its thread 0 writes the sum to
//! `output[block]`. Behind the end of the input, `n`, take 0. Each round reads what the round
//! before has written.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn block_sum(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    // ---- your code: about 13 lines ----
}

//! # Keep the positive ones
//!
//! Each warp is to write the positive ones of its 32 elements to the front of its row, in their
//! order. The lane that keeps an element has to know how many lanes before it keep one.
//!
//! `warp::warp_vote_ballot(warp::FULL_MASK, keep)` gives all lanes the same 32 bits: bit i is set
//! where lane i said `true`.
//!
//! ```text
//! lane      0    1    2    3    4   ...
//! element   3   -1    2    0    4
//! keep      1    0    1    0    1          ballot = ...10101
//! rank      0         1         2          set bits below the own one
//! row     [ 3 |  2 |  4 | ...
//! ```
//!
//! # What to do
//!
//! Write each kept element to `output[32 * warp + rank]`. `count_ones()` counts the bits of a
//! `u32`. The output is 0 at the start, and the rest of a row stays so.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn compact(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (warp, lane) = (i / 32, i % 32);
    let element = *input.add(i);
    let keep = element > 0.0;
    // ---- your code: about 6 lines ----
}

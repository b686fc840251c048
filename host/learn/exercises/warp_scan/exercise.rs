//! # Running sums
//!
//! Lane l is to have the sum of the elements of lanes 0 to l.
//! `warp::warp_shuffle_up(warp::FULL_MASK, value, distance, 32)` gives two things: the `value` of
//! the lane that is `distance` below, and whether there is one.
//!
//! ```text
//! lane            0     1     2     3
//! at first        a     b     c     d
//! distance 1      a    a+b   b+c   c+d
//! distance 2      a    a+b  a+b+c  a+b+c+d          then 4, 8, 16
//! ```
//!
//! # What to do
//!
//! Write the running sums of each warp to `output`.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn warp_scan(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let mut sum = *input.add(i);
    // ---- your code: about 8 lines ----
}

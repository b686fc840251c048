//! # Softmax
//!
//! A row of numbers becomes a row of shares that sum to 1: each element's power, over the sum of
//! all powers. Powers of large numbers overflow, so the row's largest element is subtracted first.
//! That changes no share. Here the powers are those of 2: `fast::exp2` of whole numbers is exact.
//!
//! ```text
//! x      [  3 |  1 |  3 | -2 | ...
//! y      2^(x - largest) / sum of all 2^(x - largest)
//! ```
//!
//! A warp has one row of 96 elements: each lane has three of them, 32 apart.
//!
//! # What to do
//!
//! Find the largest element of the row, then the sum of the powers, then write the shares.
//! `warp_fold(value, f)` brings one value of each lane together by `f`, and all lanes get the
//! result.

use cuda_std::float::fast;
use cuda_std::prelude::*;

/// The values of all lanes, brought together by `f`.
#[inline(always)]
unsafe fn warp_fold(mut value: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut mask = 16;
    while mask > 0 {
        value = f(
            value,
            warp::warp_shuffle_xor(warp::FULL_MASK, value, mask, 32).0,
        );
        mask /= 2;
    }
    value
}

#[kernel]
pub unsafe fn softmax(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    let (input, output) = (input.add(row * 96), output.add(row * 96));
    // ---- your code: about 13 lines ----
}

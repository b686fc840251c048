//! # Layer normalisation
//!
//! Each row is shifted to a mean of 0 and scaled to a variance of 1. The mean is the sum over the
//! count n; the variance is the mean of the squares less the square of the mean. Both sums come out
//! of the same pass, and a row of 64 elements fits into two registers of each lane: the row is read
//! once.
//!
//! ```text
//! mean       (x0 + x1 + ...) / n
//! variance   (x0 x0 + x1 x1 + ...) / n - mean * mean
//! y          (x - mean) / sqrt(variance + 0.5)
//! ```
//!
//! The 0.5 keeps a row of equal elements from a division by 0; in practice it is far smaller. With
//! rows of large elements that differ little, the difference of the two squares loses its digits:
//! kernels for those subtract the mean first.
//!
//! # What to do
//!
//! A warp has a row, and a lane its elements `lane` and `lane + 32`. Read them once, sum them and
//! their squares over the warp, and write the results. `warp_total` gives its sum to all lanes.

use cuda_std::prelude::*;

/// The sum of `value` over all lanes of the warp.
#[inline(always)]
unsafe fn warp_total(mut value: f32) -> f32 {
    let mut mask = 16;
    while mask > 0 {
        value += warp::warp_shuffle_xor(warp::FULL_MASK, value, mask, 32).0;
        mask /= 2;
    }
    value
}

#[kernel]
pub unsafe fn layernorm(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    let (input, output) = (input.add(row * 64 + lane), output.add(row * 64 + lane));
    // ---- your code: about 6 lines ----
}

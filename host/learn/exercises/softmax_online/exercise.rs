//! # Softmax that reads its row twice
//!
//! `softmax` reads each row three times: for the largest element, for the sum, for the shares. The
//! first two can be one pass. Where a larger element comes along, the sum so far was made with the
//! wrong one; a factor puts that right:
//!
//! ```text
//! largest so far  m      sum so far  s = 2^(a - m) + 2^(b - m) + ...
//! a new element   x      m' = max(m, x)
//!                        s' = s * 2^(m - m') + 2^(x - m')
//! ```
//!
//! Two lanes' results are brought together in the same way. This is the step with which attention
//! kernels get by without the whole row.
//!
//! # What to do
//!
//! Write the pass over the row, which keeps `largest` and `sum` of this lane, and bring the 32
//! lanes' results together. A row has 96 elements. Read each element twice, not three times.

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
pub unsafe fn softmax_online(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    let (input, output) = (input.add(row * 96), output.add(row * 96));
    let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
    // ---- your code: about 11 lines ----
}

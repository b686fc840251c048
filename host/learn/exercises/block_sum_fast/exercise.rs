//! # A block's sum with one barrier
//!
//! `block_sum` passes a barrier in each of its rounds. Shuffles need none: each warp sums its 32
//! elements by shuffles, lane 0 of each writes the warp's sum to shared memory, and after one
//! barrier the first warp sums those.
//!
//! ```text
//! warp 0   warp 1  ...  warp 7        8 warps of 32 lanes
//!   |        |            |           shuffles
//! [ s0   |   s1  | ... |  s7 ]        shared memory
//! ------------------------------      one barrier
//!   lanes 0 to 7 of warp 0            shuffles
//!   |
//! output[block]
//! ```
//!
//! # What to do
//!
//! Sum the 256 elements of each block in that way. `warp_total` is `warp_sum`'s loop.

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
pub unsafe fn block_sum_fast(input: *const f32, output: *mut f32) {
    let totals = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let sum = warp_total(*input.add(thread::index_1d() as usize));
    // ---- your code: about 10 lines ----
}

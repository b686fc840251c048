//! # Running sums of a block
//!
//! `warp_scan` gives each lane the sum of all elements up to its own, within a warp. A block of 8
//! warps needs one more step: each warp adds what the warps before it hold.
//!
//! ```text
//! warp 0      warp 1      warp 2   ...
//! scan        scan        scan              no barrier
//!  sum 17      sum -3      sum 5            lane 31 of each writes its warp's total
//! -----------------------------------       one barrier
//!  + 0         + 17        + 14             totals of the warps before
//! ```
//!
//! # What to do
//!
//! `running` is the scan of the thread's warp already. Write the totals of the warps to `totals`,
//! pass one barrier, and add the totals of the warps before to `running`.

use cuda_std::prelude::*;

/// The sum of `value` over this lane and those before it.
#[inline(always)]
unsafe fn warp_running(mut value: f32) -> f32 {
    let mut distance = 1;
    while distance < 32 {
        let (below, exists) = warp::warp_shuffle_up(warp::FULL_MASK, value, distance, 32);
        if exists {
            value += below;
        }
        distance *= 2;
    }
    value
}

#[kernel]
pub unsafe fn block_scan(input: *const f32, output: *mut f32) {
    let totals = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let i = thread::index_1d() as usize;
    let mut running = warp_running(*input.add(i));
    // ---- your code: about 7 lines ----
    *output.add(i) = running;
}

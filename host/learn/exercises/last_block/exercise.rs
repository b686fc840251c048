//! # The last block finishes the work
//!
//! Atomic additions of floats come in any order, so their rounding differs from run to run. Where
//! each block writes its sum to an element of its own, a last step can add them in a fixed order.
//! That step needs no second launch: the block that arrives last does it.
//!
//! ```text
//! block 0   partial[0] = ..., counts: 1st
//! block 2   partial[2] = ..., counts: 2nd
//! block 1   partial[1] = ..., counts: 3rd of 3, so it is the last: adds partial[0], [1], [2]
//! ```
//!
//! `atomic::count(counter)` adds 1 to the counter and gives what was there before. It orders memory
//! as well: the block that counts last sees what the others wrote before they counted.
//!
//! # What to do
//!
//! Thread 0 of each block writes `total` to `partial[block]`, then counts. The one that finds all
//! other blocks counted adds up `partial` from 0 on and writes `output[0]`. The counter is 0 at the
//! start.

use cuda_std::atomic;
use cuda_std::prelude::*;

/// The sum of `value` over the 256 threads of the block, in thread 0. `totals` has 8 elements.
#[inline(always)]
unsafe fn block_total(totals: *mut f32, mut value: f32) -> f32 {
    let t = thread::thread_idx_x() as usize;
    let mut mask = 16;
    while mask > 0 {
        value += warp::warp_shuffle_xor(warp::FULL_MASK, value, mask, 32).0;
        mask /= 2;
    }
    if t % 32 == 0 {
        *totals.add(t / 32) = value;
    }
    thread::sync_threads();
    let mut total = 0.0;
    if t == 0 {
        for warp in 0..8 {
            total += *totals.add(warp);
        }
    }
    total
}

#[kernel]
pub unsafe fn last_block(
    input: *const f32,
    partial: *mut f32,
    counter: *mut u32,
    output: *mut f32,
    n: usize,
) {
    let totals = shared_array![f32; 8];
    let i = thread::index_1d() as usize;
    let block = thread::block_idx_x() as usize;
    let blocks = thread::grid_dim_x();
    let total = block_total(totals, if i < n { *input.add(i) } else { 0.0 });
    if thread::thread_idx_x() == 0 {
        // ---- your code: about 8 lines ----
    }
}

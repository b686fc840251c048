//! # One sum over all blocks
//!
//! `block_sum_fast` gives a sum for each block. Blocks cannot wait for each other at a barrier, but
//! all of them can add to the same element by an atomic addition.
//!
//! An addition by each of 1,200 threads would be right, and slow: all of them queue for one
//! address. One addition for each block is enough.
//!
//! ```text
//! block 0   256 elements -> block_total -> thread 0 --.
//! block 1   256 elements -> block_total -> thread 0 ---+--> output[0]
//! block 2   256 elements -> block_total -> thread 0 --'
//! ```
//!
//! # What to do
//!
//! `block_total` gives the block's sum to thread 0. Give it this thread's element, or 0 where there
//! is none, and have one thread of the block add the sum to `output[0]`, which is 0 at the start.

use cuda_std::atomic::AtomicFloat;
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
pub unsafe fn grid_sum(input: *const f32, output: *mut f32, n: usize) {
    let totals = shared_array![f32; 8];
    let i = thread::index_1d() as usize;
    // ---- your code: about 5 lines ----
}

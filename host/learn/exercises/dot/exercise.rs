//! # A dot product
//!
//! The sum of `x[i] * y[i]` over a million elements needs no million threads. A few blocks walk
//! over the arrays; each thread accumulates its products in a register, and the block reduces its
//! threads' results once, at the end.
//!
//! ```text
//! thread 0   x[0] y[0] + x[768] y[768] + x[1536] y[1536] + ...     registers, no barrier
//! thread 1   x[1] y[1] + x[769] y[769] + ...
//! -----------------------------------------------------------      then one block_total
//! ```
//!
//! # What to do
//!
//! Walk over the arrays in steps of all threads of the grid, as in `grid_stride`, and add up the
//! products. Then add the block's sum to `output[0]`, once for each block.

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
pub unsafe fn dot(x: *const f32, y: *const f32, output: *mut f32, n: usize) {
    let totals = shared_array![f32; 8];
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    let mut sum = 0.0;
    // ---- your code: about 8 lines ----
}

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
    let value = if i < n { *input.add(i) } else { 0.0 };
    let total = block_total(totals, value);
    if thread::thread_idx_x() == 0 {
        f32::atomic_add(output, total);
    }
}

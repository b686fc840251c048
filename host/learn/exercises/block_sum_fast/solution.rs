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
    if lane == 0 {
        *totals.add(warp) = sum;
    }
    thread::sync_threads();
    if warp == 0 {
        let sum = warp_total(if lane < 8 { *totals.add(lane) } else { 0.0 });
        if lane == 0 {
            *output.add(thread::block_idx_x() as usize) = sum;
        }
    }
}

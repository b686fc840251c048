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
    if lane == 31 {
        *totals.add(warp) = running;
    }
    thread::sync_threads();
    for before in 0..warp {
        running += *totals.add(before);
    }
    *output.add(i) = running;
}

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn warp_scan(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let mut sum = *input.add(i);
    let mut distance = 1;
    while distance < 32 {
        let (below, exists) = warp::warp_shuffle_up(warp::FULL_MASK, sum, distance, 32);
        if exists {
            sum += below;
        }
        distance *= 2;
    }
    *output.add(i) = sum;
}

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn warp_sum(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (warp, lane) = (i / 32, i % 32);
    let mut sum = *input.add(i);
    let mut mask = 16;
    while mask > 0 {
        sum += warp::warp_shuffle_xor(warp::FULL_MASK, sum, mask, 32).0;
        mask /= 2;
    }
    if lane == 0 {
        *output.add(warp) = sum;
    }
}

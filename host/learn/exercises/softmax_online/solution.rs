use cuda_std::float::fast;
use cuda_std::prelude::*;

/// The values of all lanes, brought together by `f`.
#[inline(always)]
unsafe fn warp_fold(mut value: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut mask = 16;
    while mask > 0 {
        value = f(
            value,
            warp::warp_shuffle_xor(warp::FULL_MASK, value, mask, 32).0,
        );
        mask /= 2;
    }
    value
}

#[kernel]
pub unsafe fn softmax_online(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    let (input, output) = (input.add(row * 96), output.add(row * 96));
    let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
    for column in (lane..96).step_by(32) {
        let x = *input.add(column);
        let new = largest.max(x);
        sum = sum * fast::exp2(largest - new) + fast::exp2(x - new);
        largest = new;
    }
    let all = warp_fold(largest, f32::max);
    let sum = warp_fold(sum * fast::exp2(largest - all), |a, b| a + b);
    for column in (lane..96).step_by(32) {
        *output.add(column) = fast::exp2(*input.add(column) - all) / sum;
    }
}

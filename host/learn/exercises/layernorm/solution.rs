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
pub unsafe fn layernorm(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    let (input, output) = (input.add(row * 64 + lane), output.add(row * 64 + lane));
    let (x0, x1) = (*input, *input.add(32));
    let mean = warp_total(x0 + x1) / 64.0;
    let squares = warp_total(x0 * x0 + x1 * x1) / 64.0;
    let deviation = (squares - mean * mean + 0.5).sqrt();
    *output = (x0 - mean) / deviation;
    *output.add(32) = (x1 - mean) / deviation;
}

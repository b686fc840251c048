use cuda_std::prelude::*;

#[kernel]
pub unsafe fn divergence(input: *const f32, output: *mut f32) {
    let first = thread::block_idx_x() as usize * 64;
    let t = thread::thread_idx_x() as usize;
    let i = first + 2 * (t % 32) + t / 32;
    let mut x = *input.add(i);
    if i % 2 == 0 {
        for _ in 0..20 {
            x = x.mul_add(0.5, 1.0);
        }
    } else {
        for _ in 0..20 {
            x = 1.0 / (1.0 + x);
        }
    }
    *output.add(i) = x;
}

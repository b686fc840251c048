use cuda_std::prelude::*;

#[kernel]
pub unsafe fn chunks(input: *const f32, output: *mut f32) {
    let threads = thread::block_dim_x() as usize;
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 4 * threads;
    for round in 0..4 {
        let i = first + round * threads + t;
        *output.add(i) = 3.0 * *input.add(i);
    }
}

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn occupancy(input: *const f32, output: *mut f32) {
    let sums = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let i = thread::index_1d() as usize;
    let mut sum = 0.0;
    for round in 0..32 {
        sum += *input.add(round * threads + i);
    }
    *sums.add(t) = sum;
    thread::sync_threads();
    *output.add(i) = *sums.add(63 - t);
}

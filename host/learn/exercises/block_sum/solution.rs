use cuda_std::prelude::*;

#[kernel]
pub unsafe fn block_sum(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *tile.add(t) = if i < n { *input.add(i) } else { 0.0 };
    thread::sync_threads();
    let mut half = 64;
    while half > 0 {
        if t < half {
            *tile.add(t) += *tile.add(t + half);
        }
        thread::sync_threads();
        half /= 2;
    }
    if t == 0 {
        *output.add(thread::block_idx_x() as usize) = *tile;
    }
}

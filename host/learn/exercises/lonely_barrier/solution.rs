use cuda_std::prelude::*;

#[kernel]
pub unsafe fn lonely_barrier(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 96];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mut value = 0.0;
    if i < n {
        *tile.add(t) = *input.add(i);
    }
    thread::sync_threads();
    if i < n {
        value = *tile.add(t ^ 1);
    }
    *output.add(i) = value;
}

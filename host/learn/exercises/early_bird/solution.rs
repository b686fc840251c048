use cuda_std::prelude::*;

#[kernel]
pub unsafe fn early_bird(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *tile.add(t) = *input.add(i);
    thread::sync_threads();
    let mut distance = 1;
    while distance < 128 {
        let below = if t >= distance {
            *tile.add(t - distance)
        } else {
            0.0
        };
        thread::sync_threads();
        *tile.add(t) += below;
        thread::sync_threads();
        distance *= 2;
    }
    *output.add(i) = *tile.add(t);
}

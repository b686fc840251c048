use cuda_std::prelude::*;

#[kernel]
pub unsafe fn stencil_shared(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 134];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 128;
    let mut offset = t;
    while offset < 134 {
        // 3 more than the index, so that it is never below 0.
        let index_and_3 = first + offset;
        *tile.add(offset) = if index_and_3 >= 3 && index_and_3 - 3 < n {
            *input.add(index_and_3 - 3)
        } else {
            0.0
        };
        offset += 128;
    }
    thread::sync_threads();
    let i = first + t;
    if i < n {
        let mut sum = 0.0;
        for distance in 0..7 {
            sum += *tile.add(t + distance);
        }
        *output.add(i) = sum;
    }
}

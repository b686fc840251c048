use cuda_std::prelude::*;

#[kernel]
pub unsafe fn bitonic(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *tile.add(t) = *input.add(i);
    thread::sync_threads();
    let mut size = 2;
    while size <= 64 {
        let mut distance = size / 2;
        while distance > 0 {
            let partner = t ^ distance;
            let upwards = t & size == 0;
            if t < partner {
                let (own, other) = (*tile.add(t), *tile.add(partner));
                if (own > other) == upwards {
                    *tile.add(t) = other;
                    *tile.add(partner) = own;
                }
            }
            thread::sync_threads();
            distance /= 2;
        }
        size *= 2;
    }
    *output.add(i) = *tile.add(t);
}

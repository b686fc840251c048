use cuda_std::atomic::AtomicFloat;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn histogram_shared(input: *const f32, bins: *mut f32, n: usize) {
    let own = shared_array![f32; 9];
    let t = thread::thread_idx_x() as usize;
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    if t < 9 {
        *own.add(t) = 0.0;
    }
    thread::sync_threads();
    while i < n {
        let bin = (*input.add(i) + 4.0) as usize;
        f32::atomic_add(own.add(bin), 1.0);
        i += threads;
    }
    thread::sync_threads();
    if t < 9 {
        f32::atomic_add(bins.add(t), *own.add(t));
    }
}

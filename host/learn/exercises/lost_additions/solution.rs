use cuda_std::atomic::AtomicFloat;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn lost_additions(input: *const f32, total: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        f32::atomic_add(total, *input.add(i));
    }
}

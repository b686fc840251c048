use cuda_std::atomic::AtomicFloat;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn histogram(input: *const f32, bins: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        let bin = (*input.add(i) + 4.0) as usize;
        f32::atomic_add(bins.add(bin), 1.0);
    }
}

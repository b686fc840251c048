use cuda_std::prelude::*;

#[kernel]
pub unsafe fn saxpy(factor: f32, x: *const f32, y: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *y.add(i) = factor.mul_add(*x.add(i), *y.add(i));
    }
}

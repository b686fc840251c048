use cuda_std::prelude::*;

#[kernel]
pub unsafe fn grid_stride(input: *const f32, output: *mut f32, n: usize) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        *output.add(i) = 2.0 * *input.add(i);
        i += threads;
    }
}

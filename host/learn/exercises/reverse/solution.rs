use cuda_std::prelude::*;

#[kernel]
pub unsafe fn reverse(input: *const f32, output: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *output.add(n - 1 - i) = *input.add(i);
    }
}

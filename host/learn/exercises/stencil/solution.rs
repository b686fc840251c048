use cuda_std::prelude::*;

#[kernel]
pub unsafe fn stencil(input: *const f32, output: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        let mut sum = *input.add(i);
        if i > 0 {
            sum += *input.add(i - 1);
        }
        if i + 1 < n {
            sum += *input.add(i + 1);
        }
        *output.add(i) = sum;
    }
}

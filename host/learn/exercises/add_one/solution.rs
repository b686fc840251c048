use cuda_std::prelude::*;

#[kernel]
pub unsafe fn add_one(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    *output.add(i) = *input.add(i) + 1.0;
}

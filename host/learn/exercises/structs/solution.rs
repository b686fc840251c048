use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

#[kernel]
pub unsafe fn structs(input: *const f32, output: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        let particle = F32x4::load(input.add(4 * i));
        for member in 0..4 {
            *output.add(member * n + i) = particle[member];
        }
    }
}

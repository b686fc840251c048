use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

#[kernel]
pub unsafe fn vector_loads(input: *const f32, output: *mut f32) {
    let t = thread::index_1d() as usize;
    let elements = F32x4::load(input.add(4 * t));
    F32x4::store(output.add(4 * t), elements.map(|x| 2.0 * x));
}

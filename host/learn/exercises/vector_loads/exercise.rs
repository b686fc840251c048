//! # Four elements in one instruction
//!
//! A load may bring 16 bytes per thread. The bytes are the same, but there is one instruction in
//! place of four. In Rust it takes a vector type: `F32x4::load(pointer)` gives `[f32; 4]`, and
//! `F32x4::store(pointer, array)` writes it. The pointer must be a multiple of 16 bytes, which that
//! of every fourth element is.
//!
//! # What to do
//!
//! Let `output[i]` become `2.0 * input[i]`. Thread t does the elements 4 t to 4 t + 3, with one
//! load and one store.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

#[kernel]
pub unsafe fn vector_loads(input: *const f32, output: *mut f32) {
    let t = thread::index_1d() as usize;
    // ---- your code: about 2 lines ----
}

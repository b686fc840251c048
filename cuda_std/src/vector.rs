#![allow(missing_docs)]
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct F32x4(pub [f32; 4]);
#[derive(Clone, Copy)]
#[repr(simd)]
pub struct S32x4([f32; 4]);

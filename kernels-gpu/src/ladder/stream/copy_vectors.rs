//! `copy_vec2`, `copy_vec4`: 64 and 128 bits in one access.
//!
//! # Idea
//! The other way to more bytes in flight per thread: one instruction that moves 2 or 4 elements. It
//! takes as many bytes as `copy_2` and `copy_4`, but half and a quarter of the instructions and
//! addresses.
//!
//! # Thread mapping
//! A block of 256 threads copies 256 · R consecutive elements; thread t takes R · t to R · t + R -
//! 1.
//!
//! # Preconditions
//! The number of elements is a multiple of 256 · R; input and output are aligned to 4 · R bytes
//! (every allocation is).
//!
//! # What changed since the rung before
//! Against `copy_2` and `copy_4`: a thread's elements are neighbours.
//!
//! # Source
//! 000 ("Larger fetches (64 or 128 bit/thread)").

use crate::geometry::Geometry;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, Vector};

/// Geometry of `copy_vecR`: 256 threads for 256 · `elements` elements.
pub const fn geometry(elements: usize) -> Geometry {
    super::copy_elements::geometry(elements)
}

// ANCHOR: body
#[inline(always)]
unsafe fn body<V: Vector<Element = f32>>(input: &[f32], output: *mut f32) {
    let first = thread::index_1d() as usize * (size_of::<V>() / size_of::<f32>());
    // SAFETY: the number of elements is a multiple of what a block copies, and the arrays are
    // aligned.
    unsafe { V::store(output.add(first), V::load(input.as_ptr().add(first))) }
}
// ANCHOR_END: body

copy_kernels! {
    /// 64 bits per access.
    copy_vec2 => body::<F32x2>;
    /// 128 bits per access.
    copy_vec4 => body::<F32x4>;
}

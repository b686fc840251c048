//! `copy_1`, `copy_2`, `copy_4`, `copy_8`: more elements per thread instead of more threads.
//!
//! # Idea
//! To keep a memory busy, bandwidth times latency bytes must be in flight (Little's law). A thread
//! with one load brings 4 of them. A thread that issues R loads before its first store brings 4 R:
//! a quarter of the threads with R = 4.
//!
//! # Thread mapping
//! A block of 256 threads copies 256 · R consecutive elements; thread t takes t, t + 256, t + 512,
//! …, so that each of its accesses is coalesced with its neighbours'.
//!
//! # Preconditions
//! The number of elements is a multiple of 256 · R.
//!
//! # What changed since the rung before
//! From one rung to the next R doubles and the blocks halve.
//!
//! # Source
//! 000 ("Hiding memory latency", after Volkov, GTC 2010).

use super::BLOCK;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Geometry of `copy_R`: 256 threads for 256 · `elements` elements.
pub const fn geometry(elements: usize) -> Geometry {
    Geometry::Linear {
        block: BLOCK as u32,
        elements: (BLOCK * elements) as u32,
    }
}

// ANCHOR: body
#[inline(always)]
unsafe fn body<const R: usize>(input: &[f32], output: *mut f32) {
    let first = thread::block_idx_x() as usize * (BLOCK * R) + thread::thread_idx_x() as usize;
    let mut elements = [0.0f32; R];
    // All loads stand before the first store: the store might overwrite what a later load reads,
    // for all that the compiler knows, so it would not move them there itself.
    for r in 0..R {
        // SAFETY: the number of elements is a multiple of BLOCK · R.
        elements[r] = unsafe { *input.get_unchecked(first + r * BLOCK) };
    }
    for r in 0..R {
        // SAFETY: inside of the output, as of the input, and no other thread takes this element.
        unsafe { *output.add(first + r * BLOCK) = elements[r] };
    }
}
// ANCHOR_END: body

copy_kernels! {
    /// 1 element per thread.
    copy_1 => body::<1>;
    /// 2 elements per thread.
    copy_2 => body::<2>;
    /// 4 elements per thread.
    copy_4 => body::<4>;
    /// 8 elements per thread.
    copy_8 => body::<8>;
}

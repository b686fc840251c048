//! `reduce_atomic`: every thread adds its element to the output.
//!
//! # Idea
//! Addition is associative, as far as rounding goes, so any thread may add at any time, if each
//! addition is one step: an atomic. All of them go to the same address, where the L2 cache does
//! them one after the other. The kernel is as slow as that cache adds to one word, however many
//! threads there are.
//!
//! # Thread mapping
//! Thread t of block b has element 256 b + t.
//!
//! # Preconditions
//! None. The output is cleared before.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources. PTX ISA, "red"; Harris, "Optimizing Parallel Reduction in CUDA", 2007, is
//! what the family is after.

use super::{BLOCK, element};
use crate::geometry::Geometry;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::AtomicF32;
use cuda_std::prelude::*;

/// 256 threads, one element each.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

// ANCHOR: kernel
/// Adds all elements to the output.
///
/// # Safety
/// `input` and `output` are device arrays that do not overlap, `output` of one element; the grid
/// and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_atomic(input: &[f32], output: *const AtomicF32) {
    let i = element();
    if i < input.len() {
        // SAFETY: the element is inside of the input. All threads access the output atomically.
        unsafe { (*output).fetch_add(*input.get_unchecked(i), Relaxed) };
    }
}
// ANCHOR_END: kernel

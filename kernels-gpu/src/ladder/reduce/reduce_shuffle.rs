//! `reduce_shuffle`: warps add by shuffles.
//!
//! # Idea
//! Lanes of a warp read each other's registers: a shuffle needs neither shared memory nor a
//! barrier. Five of them add 32 elements. Then eight partial sums are left, one for each warp, that
//! must go through shared memory, with one barrier instead of eight.
//!
//! # Thread mapping
//! Thread t of block b has element 256 b + t. In each of five steps a lane adds the value of the
//! lane whose number differs in one bit.
//!
//! # Preconditions
//! None. The output is cleared before.
//!
//! # What changed since the rung before
//! Against `reduce_shared`: the tree's steps inside of a warp are shuffles.
//!
//! # Source
//! Beyond the sources. PTX ISA, "shfl.sync"; Luitjens, "Faster Parallel Reductions on Kepler",
//! 2014.

use super::{BLOCK, block_sum, element};
use crate::geometry::Geometry;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::AtomicF32;
use cuda_std::prelude::*;

/// 256 threads, one element each.
pub const GEOMETRY: Geometry = super::reduce_atomic::GEOMETRY;

// ANCHOR: kernel
/// Adds all elements to the output.
///
/// # Safety
/// As for [`reduce_atomic`](super::reduce_atomic::reduce_atomic).
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_shuffle(input: &[f32], output: *const AtomicF32) {
    let i = element();
    // SAFETY: the element is read where it is inside of the input. All threads of the block are
    // here, and all access the output atomically.
    unsafe {
        let value = if i < input.len() {
            *input.get_unchecked(i)
        } else {
            0.0
        };
        let sum = block_sum(value);
        if thread::thread_idx_x() == 0 {
            (*output).fetch_add(sum, Relaxed);
        }
    }
}
// ANCHOR_END: kernel

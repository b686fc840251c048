//! `reduce_shared`: a tree in shared memory, and one atomic a block.
//!
//! # Idea
//! 256 elements are added in eight steps, each of half as many additions as the one before: a tree.
//! Partial sums lie in shared memory, where other threads find them. So the output gets one
//! addition a block, and not one an element.
//!
//! In each step the first `width` threads add what lies `width` further on. Neighbouring lanes
//! access neighbouring words, so there are no bank conflicts, and whole warps idle instead of
//! some lanes of each.
//!
//! # Thread mapping
//! Thread t of block b has element 256 b + t. In the step of width w, thread t < w adds partial sum
//! t + w to its own.
//!
//! # Preconditions
//! None. The output is cleared before.
//!
//! # What changed since the rung before
//! Against `reduce_atomic`: 255 of 256 atomics became additions in shared memory, with a barrier
//! before each step.
//!
//! # Source
//! Beyond the sources. Harris, "Optimizing Parallel Reduction in CUDA", 2007 ("sequential
//! addressing").

use super::{BLOCK, element};
use crate::geometry::Geometry;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::AtomicF32;
use cuda_std::prelude::*;

/// 256 threads, one element each.
pub const GEOMETRY: Geometry = super::reduce_atomic::GEOMETRY;

// Each step halves the partial sums.
const _: () = assert!(BLOCK.is_power_of_two());

// ANCHOR: kernel
/// Adds all elements to the output.
///
/// # Safety
/// As for [`reduce_atomic`](super::reduce_atomic::reduce_atomic).
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_shared(input: &[f32], output: *const AtomicF32) {
    let sums = shared_array![f32; BLOCK];
    let (i, t) = (element(), thread::thread_idx_x() as usize);
    // SAFETY: the element is read where it is inside of the input. A step reads what others wrote
    // in the step before, and a barrier lies between them. All threads access the output
    // atomically.
    unsafe {
        *sums.add(t) = if i < input.len() {
            *input.get_unchecked(i)
        } else {
            0.0
        };
        let mut width = BLOCK / 2;
        while width > 0 {
            thread::sync_threads();
            if t < width {
                *sums.add(t) += *sums.add(t + width);
            }
            width /= 2;
        }
        if t == 0 {
            (*output).fetch_add(*sums, Relaxed);
        }
    }
}
// ANCHOR_END: kernel

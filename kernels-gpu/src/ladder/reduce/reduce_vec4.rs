//! `reduce_vec4`: 16 elements a thread, in four loads of 128 bits.
//!
//! # Idea
//! A thread with one element adds nothing by itself, and has four bytes in flight. With 16 it adds
//! 15 times in registers before the first shuffle, and has 64 bytes in flight (Little's law). The
//! shuffles, the barrier and the atomic are shared by 16 times as many elements.
//!
//! # Thread mapping
//! Block b has elements 4,096 b to 4,096 b + 4,095. In load i of four, thread t has those from
//! 4 (t + 256 i) on, so that a warp loads 512 consecutive bytes.
//!
//! # Preconditions
//! None; the input is aligned to 16 bytes (every allocation is). The output is cleared before.
//!
//! # What changed since the rung before
//! Against `reduce_shuffle`: elements of a thread, and the width of a load.
//!
//! # Source
//! Beyond the sources. Harris, "Optimizing Parallel Reduction in CUDA", 2007 ("multiple adds per
//! thread").

use super::{BLOCK, VECTORS_BLOCK, block_sum, thread_sum};
use crate::geometry::Geometry;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::AtomicF32;
use cuda_std::prelude::*;

/// 256 threads for 4,096 elements.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: VECTORS_BLOCK as u32,
};

// ANCHOR: kernel
/// Adds all elements to the output.
///
/// # Safety
/// As for [`reduce_atomic`](super::reduce_atomic::reduce_atomic), with the [`GEOMETRY`] here;
/// `input` is aligned to 16 bytes.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_vec4(input: &[f32], output: *const AtomicF32) {
    // SAFETY: all threads of the block are here, and all access the output atomically.
    unsafe {
        let sum = block_sum(thread_sum(input));
        if thread::thread_idx_x() == 0 {
            (*output).fetch_add(sum, Relaxed);
        }
    }
}
// ANCHOR_END: kernel

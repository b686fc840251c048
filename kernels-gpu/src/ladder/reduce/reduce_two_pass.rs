//! `reduce_two_pass`: partial sums in memory, and a second launch that reduces them.
//!
//! # Idea
//! Atomics of floats add in the order in which blocks arrive, which differs from launch to launch,
//! and so does the last bit of the sum. If each block stores its partial sum instead, a second
//! launch adds them in the order of the blocks: the same bits each time. Between two launches of a
//! stream all stores of the first are visible to the second.
//!
//! # Thread mapping
//! `reduce_blocks` as `reduce_vec4`. `reduce_partial_sums` is one block: thread t adds partial sums
//! t, t + 256, t + 512, …
//!
//! # Preconditions
//! None; the input is aligned to 16 bytes (every allocation is).
//!
//! # What changed since the rung before
//! Against `reduce_vec4`: a store for each block and a launch instead of the atomics, and no output
//! to clear.
//!
//! # Source
//! Beyond the sources. CUB, `DeviceReduce` (two launches of this kind).

use super::{BLOCK, block_sum, thread_sum};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads for 4,096 elements: of the first launch. The second is one block.
pub const GEOMETRY: Geometry = super::reduce_vec4::GEOMETRY;

// ANCHOR: kernels
/// The partial sum of each block.
///
/// # Safety
/// `input` is a device array that is aligned to 16 bytes; `partial_sums` has an element for each
/// block; the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_blocks(input: &[f32], partial_sums: *mut f32) {
    // SAFETY: all threads of the block are here, and one stores its sum.
    unsafe {
        let sum = block_sum(thread_sum(input));
        if thread::thread_idx_x() == 0 {
            *partial_sums.add(thread::block_idx_x() as usize) = sum;
        }
    }
}

/// The sum of the partial sums.
///
/// # Safety
/// `partial_sums` is a device array of `count` elements, and `output` of one; there is one block of
/// 256 threads.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_partial_sums(partial_sums: *const f32, count: u32, output: *mut f32) {
    // SAFETY: as for `sum_of`; all threads of the block are here, and one stores.
    unsafe {
        let sum = block_sum(sum_of(partial_sums, count as usize));
        if thread::thread_idx_x() == 0 {
            *output = sum;
        }
    }
}
// ANCHOR_END: kernels

/// The sum of this thread's partial sums: every 256th.
///
/// # Safety
/// There are `count` of them, which no thread writes meanwhile.
#[inline(always)]
pub(super) unsafe fn sum_of(partial_sums: *const f32, count: usize) -> f32 {
    let (mut sum, mut i) = (0.0, thread::thread_idx_x() as usize);
    while i < count {
        // SAFETY: the test, and the contract.
        sum += unsafe { *partial_sums.add(i) };
        i += BLOCK;
    }
    sum
}

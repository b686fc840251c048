//! `reduce_one_pass`: the last block to arrive reduces the partial sums.
//!
//! # Idea
//! A second launch costs microseconds, as long as a small sum takes. Blocks cannot wait for each
//! other, but each can count itself when its partial sum is stored. The one that counts last knows
//! that all others have stored theirs, and adds them, in the order of the blocks: the same bits
//! each time, whichever block it is.
//!
//! The count has acquire and release semantics, so what was stored before a count is visible after
//! a later one. The last block sets the counter to 0 again, ready for the next launch.
//!
//! # Thread mapping
//! As `reduce_vec4`; in the last block, thread t adds partial sums t, t + 256, t + 512, …
//!
//! # Preconditions
//! None; the input is aligned to 16 bytes (every allocation is).
//!
//! # What changed since the rung before
//! Against `reduce_two_pass`: a counter instead of the second launch.
//!
//! # Source
//! Beyond the sources. CUDA C++ Programming Guide, "Memory Fence Functions" (its example is this
//! kernel); PTX ISA, "Memory Consistency Model".

use super::reduce_two_pass::sum_of;
use super::{BLOCK, block_sum, thread_sum};
use crate::gemm::reduction::fix_up::{Block, is_last};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// 256 threads for 4,096 elements.
pub const GEOMETRY: Geometry = super::reduce_vec4::GEOMETRY;

/// Bytes of the workspace before the partial sums: the counter, and what aligns them.
pub const COUNTER_BYTES: u64 = 16;

// ANCHOR: kernel
/// Stores the sum of all elements.
///
/// # Safety
/// `input` is a device array that is aligned to 16 bytes, and `output` one of one element;
/// `counter` is 0 before the launch; `partial_sums` has an element for each block; the grid and
/// block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn reduce_one_pass(
    input: &[f32],
    counter: *mut u32,
    partial_sums: *mut f32,
    output: *mut f32,
) {
    let flag = shared_array![u32; 1];
    let blocks = thread::grid_dim_x();
    // SAFETY: all threads of the block are here. Partial sums are read by the last block alone,
    // after all have been stored.
    unsafe {
        let sum = block_sum(thread_sum(input));
        if thread::thread_idx_x() == 0 {
            *partial_sums.add(thread::block_idx_x() as usize) = sum;
        }
        if is_last(&Block, counter, blocks, flag) {
            let sum = block_sum(sum_of(partial_sums, blocks as usize));
            if thread::thread_idx_x() == 0 {
                *output = sum;
            }
        }
    }
}
// ANCHOR_END: kernel

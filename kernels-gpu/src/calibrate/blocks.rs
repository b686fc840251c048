//! `calibrate_empty`, `calibrate_touch`: what launches, blocks and warps cost.
//!
//! # Idea
//! A launch of a kernel that does nothing takes what a launch costs. Blocks that only copy a word
//! for each thread take a latency of memory, and the rest of their time is what it costs to start a
//! block and its warps and to end them.
//!
//! # Thread mapping
//! Thread t copies word t of a small array, round and round.
//!
//! # Preconditions
//! Any grid of one-dimensional blocks.

use super::BLOCK;
use cuda_std::prelude::*;

/// Does nothing.
///
/// # Safety
/// None is needed; kernels are unsafe to call.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_empty() {}

/// Copies a word for each thread.
///
/// # Safety
/// `input` and `output` have `words` words, a power of two.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_touch(input: *const u32, output: *mut u32, words: u32) {
    let word = (thread::index_1d() & (words - 1)) as usize;
    // SAFETY: inside of the arrays.
    unsafe { *output.add(word) = *input.add(word) };
}

//! `histogram_global`: an atomic in global memory for each element.
//!
//! # Idea
//! A thread does not know which bin others add to, so it adds atomically. 256 words take all
//! additions, and the L2 cache does those to one word one after the other: the more often a value
//! comes, the longer its queue.
//!
//! # Thread mapping
//! Thread t of block b has element 256 b + t.
//!
//! # Preconditions
//! At most 2³² - 1 elements, so that a count fits. The output is cleared before.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! Beyond the sources. PTX ISA, "red".

use super::{BLOCK, bin};
use crate::geometry::Geometry;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::AtomicU32;
use cuda_std::prelude::*;

/// 256 threads, one element each.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

// ANCHOR: kernel
/// Counts all elements.
///
/// # Safety
/// `input` and `output` are device arrays that do not overlap, `output` of 256 elements; the grid
/// and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn histogram_global(input: &[u32], output: *const AtomicU32) {
    let block = thread::block_idx_x() as usize;
    let i = block * BLOCK + thread::thread_idx_x() as usize;
    if i < input.len() {
        // SAFETY: the element is inside of the input, and the bin of the output, which all threads
        // access atomically.
        unsafe { (*output.add(bin(*input.get_unchecked(i)))).fetch_add(1, Relaxed) };
    }
}
// ANCHOR_END: kernel

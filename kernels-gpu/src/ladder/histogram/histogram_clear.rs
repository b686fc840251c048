//! `histogram_clear`: the launch before those that add to the output.

use super::{BINS, BLOCK};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// One block, a thread for each bin.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BINS as u32,
};

/// The output becomes 0.
///
/// # Safety
/// `output` is a device array of 256 elements; there is one block of 256 threads.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn histogram_clear(output: *mut u32) {
    // SAFETY: there is a bin for each thread.
    unsafe { *output.add(thread::thread_idx_x() as usize) = 0 };
}

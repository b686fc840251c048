//! `reduce_clear`: the launch before those that add to the output.

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// One block of one warp, whatever the output.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: super::WARP as u32,
    elements: super::WARP as u32,
};

/// The output becomes 0.
///
/// # Safety
/// `output` is a device array of one element.
#[kernel(max_threads = super::WARP as u32, min_blocks = 1)]
pub unsafe fn reduce_clear(output: *mut f32) {
    if thread::index_1d() == 0 {
        // SAFETY: the first element, and one thread.
        unsafe { *output = 0.0 };
    }
}

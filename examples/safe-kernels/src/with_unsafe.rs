//! `vecadd` with `unsafe`, for `compare`. The transpose and the product with `unsafe` are in
//! warpladder's own PTX.

use cuda_std::prelude::*;

/// c ← a + b.
///
/// # Safety
/// The arrays have the length of `a`, `c` apart from the others; the grid has a thread for each
/// element.
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn vecadd_with_unsafe(a: &[f32], b: &[f32], c: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        // SAFETY: the arrays have the length of `a`, and no other thread writes this element.
        unsafe { *c.add(i) = *a.get_unchecked(i) + *b.get_unchecked(i) };
    }
}

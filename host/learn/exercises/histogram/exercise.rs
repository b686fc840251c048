//! # A histogram
//!
//! How often does each value occur? The input holds whole numbers from -4 to 4, and there are nine
//! bins: bin 0 counts the -4s, bin 8 the 4s. Any two threads may meet in the same bin, in the same
//! block or in different ones.
//!
//! ```text
//! input   [ 3 | -4 | 0 | 3 | ... ]
//! bins    [ 1 | 0 | 0 | 0 | 1 | 0 | 0 | 2 | 0 ]
//!           -4                          3
//! ```
//!
//! # What to do
//!
//! Add 1 to the bin of each element: bin `x + 4.0` of element `x`. `f32::atomic_add(pointer, 1.0)`
//! reads, adds and writes in one step. The bins are 0 at the start.

use cuda_std::atomic::AtomicFloat;
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn histogram(input: *const f32, bins: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    // ---- your code: about 4 lines ----
}

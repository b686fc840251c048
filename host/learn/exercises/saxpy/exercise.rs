//! # A guard
//!
//! The arrays have 1,000 elements, and a launch is made of whole blocks: 4 blocks of 256 threads
//! are 1,024 threads, 24 too many. A thread that has no element must not touch memory: what lies
//! behind an array belongs to another array.
//!
//! ```text
//! thread    0   1   2  ...  998  999 | 1000 ... 1023
//!           |   |   |        |    |  |   nothing to do
//! y       [   |   |   | ... |   |    ]
//! ```
//!
//! # What to do
//!
//! Let `y[i]` become `factor * x[i] + y[i]` for the `n` elements, and for those alone.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn saxpy(factor: f32, x: *const f32, y: *mut f32, n: usize) {
    // ---- your code: about 4 lines ----
}

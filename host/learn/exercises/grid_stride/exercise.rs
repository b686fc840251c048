//! # A loop over the grid
//!
//! One thread per element ties the launch to the size. A grid-stride loop does not: T threads take
//! the elements 0 to T - 1, then the next T, and so on. Any grid fits any size, and neighbouring
//! threads still access neighbouring elements.
//!
//! ```text
//!            round 0         round 1          round 2
//! thread 0:  element 0       element T        element 2 T     ...
//! thread 1:  element 1       element T + 1    element 2 T + 1 ...
//! ```
//!
//! # What to do
//!
//! Let `output[i]` become `2.0 * input[i]` for all `n` elements; there are far fewer threads than
//! elements. The number of threads is `thread::grid_dim_x()` (blocks) times `thread::block_dim_x()`
//! (threads of a block).

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn grid_stride(input: *const f32, output: *mut f32, n: usize) {
    // ---- your code: about 6 lines ----
}

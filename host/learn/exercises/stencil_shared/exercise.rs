//! # Load once, use often
//!
//! Each output here is the sum of 7 inputs, and each input is part of 7 outputs. Straight from
//! global memory that makes 7 loads per thread. A block of 128 threads needs only 128 + 6 different
//! elements: bring them to shared memory, each with one load.
//!
//! ```text
//!              first - 3     first                     first + 128   + 3
//! input    ... | h  h  h  |  x  x  x  x  ...  x  x  x  |  h  h  h  | ...
//! tile     [ 0    1    2     3  ...                130    131 132 133 ]
//! ```
//!
//! The h are the halo. Thread t sums elements t to t + 6 of the tile.
//!
//! # What to do
//!
//! Fill the tile: element p holds the input at `first + p - 3`, and 0 where that is outside of the
//! input. The block has 128 threads and the tile 134 elements, so some threads fill two. Then sum 7
//! elements, and write the sum where there is an output.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn stencil_shared(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 134];
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 128;
    // ---- your code: about 20 lines ----
}

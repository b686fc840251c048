//! # A picture and its neighbours
//!
//! Each output is the sum of the 3 x 3 elements around it; outside of the picture there are zeros.
//! Read from global memory by each thread, every element is loaded nine times. A block of 16 x 16
//! threads loads 18 x 18 elements into shared memory, once, and reads them there.
//!
//! ```text
//!        18
//!    +--------+
//!    | halo   |        the tile's element (r, c) is the input's element
//!    | +----+ |        (top + r - 1, left + c - 1), or 0 outside
//! 18 | | 16 | |
//!    | +----+ |
//!    |        |
//!    +--------+
//! ```
//!
//! There are more elements in the tile than threads in the block: each thread fills one or two.
//!
//! # What to do
//!
//! Fill the tile: thread `t` of 256 takes the tile's elements `t`, `t + 256`, and so on, below 324.
//! Add halo elements outside of the input as 0. Then all threads sum nine elements of the tile.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn blur(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let tile = shared_array![f32; 18 * 18];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let top = thread::block_idx_y() as usize * 16;
    let left = thread::block_idx_x() as usize * 16;
    let mut index = ty * 16 + tx;
    // ---- your code: about 11 lines ----
    let (row, column) = (top + ty, left + tx);
    if row < rows && column < columns {
        let mut sum = 0.0;
        for r in 0..3 {
            for c in 0..3 {
                sum += *tile.add((ty + r) * 18 + tx + c);
            }
        }
        *output.add(row * columns + column) = sum;
    }
}

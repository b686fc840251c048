//! # A transpose through shared memory
//!
//! Read a tile of 32 x 32 elements by rows, write it by rows, and turn it in between, in shared
//! memory, where the order of accesses costs less. Both accesses to global memory are then
//! coalesced.
//!
//! ```text
//! input                    tile             output
//! +----+----+----+         +----+           +----+----+
//! |    | T  |    |  rows   |    | columns   |    |    |
//! +----+----+----+  --->   |    |   --->    +----+----+
//! |    |    |    |         +----+           | T' |    |     block (1, 0) of the input is
//! +----+----+----+                          +----+----+     block (0, 1) of the output
//!                                           |    |    |
//!                                           +----+----+
//! ```
//!
//! # What to do
//!
//! A block has 32 x 32 threads for a tile; `rows` and `columns` are multiples of 32. Thread (tx,
//! ty) reads row ty of the tile and writes row ty of the transposed one.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn transpose_tile(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let tile = shared_array![f32; 32 * 32];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let left = thread::block_idx_x() as usize * 32;
    let top = thread::block_idx_y() as usize * 32;
    // ---- your code: about 3 lines ----
}

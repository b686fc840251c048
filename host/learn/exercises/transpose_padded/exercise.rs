//! # Bank conflicts
//!
//! This is `transpose_tile`, solved. It is right, and its reads of the tile are slow. Shared memory
//! has 32 banks: element i lies in bank i % 32, and in one pass each bank delivers one element. A
//! warp that reads a row meets each bank once. A warp that reads a column meets the elements 0, 32,
//! 64, ..., all of them in bank 0, and takes 32 passes.
//!
//! ```text
//! rows of 32                      rows of 33
//! bank    0  1  2 ... 31          bank    0  1  2 ... 31
//! row 0  [0][ ][ ]   [ ]          row 0  [0][ ][ ]   [ ]
//! row 1  [0][ ][ ]   [ ]          row 1  [ ][0][ ]   [ ]     one element further
//! row 2  [0][ ][ ]   [ ]          row 2  [ ][ ][0]   [ ]
//! ```
//!
//! # What to do
//!
//! Make the tile's rows one element longer than they have to be.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn transpose_padded(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let tile = shared_array![f32; 32 * 32];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let left = thread::block_idx_x() as usize * 32;
    let top = thread::block_idx_y() as usize * 32;
    *tile.add(ty * 32 + tx) = *input.add((top + ty) * columns + left + tx);
    thread::sync_threads();
    *output.add((left + ty) * rows + top + tx) = *tile.add(tx * 32 + ty);
}

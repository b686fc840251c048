//! # A swizzle
//!
//! Padding costs memory and breaks alignment. The other way: leave rows at 32 elements, and put the
//! elements of each row into another order, so that a column is spread over all banks. Element
//! (row, column) goes to `row * 32 + (column ^ row)`, where ^ is the exclusive or. Within a row
//! each offset is taken once, because x ^ row is different for every x.
//!
//! ```text
//! with 4 banks: where (row, column) lies
//! bank     0    1    2    3
//! row 0   0,0  0,1  0,2  0,3
//! row 1   1,1  1,0  1,3  1,2          column 0 is in the banks 0, 1, 2, 3
//! row 2   2,2  2,3  2,0  2,1
//! row 3   3,3  3,2  3,1  3,0
//! ```
//!
//! # What to do
//!
//! Let `offset` swizzle. The kernel uses it for both accesses and stays as it is.

use cuda_std::prelude::*;

/// The offset of an element in the tile.
#[inline(always)]
fn offset(row: usize, column: usize) -> usize {
    // ---- your code: 1 line ----
    row * 32 + column
}

#[kernel]
pub unsafe fn transpose_swizzled(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let tile = shared_array![f32; 32 * 32];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let left = thread::block_idx_x() as usize * 32;
    let top = thread::block_idx_y() as usize * 32;
    *tile.add(offset(ty, tx)) = *input.add((top + ty) * columns + left + tx);
    thread::sync_threads();
    *output.add((left + ty) * rows + top + tx) = *tile.add(offset(tx, ty));
}

//! # Several outputs per thread
//!
//! In `matmul_tiled` each product of two numbers takes two loads from shared memory. A thread with
//! 4 outputs in one column uses each element of B that it loads for 4 products: 5 loads for 4
//! products in place of 8.
//!
//! ```text
//! tile of C, 32 x 32, by 32 x 8 threads
//! row ty       [ . . * . . . ]       thread (tx, ty) has rows ty, ty + 8, ty + 16 and ty + 24
//! row ty + 8   [ . . * . . . ]       of column tx
//! row ty + 16  [ . . * . . . ]
//! row ty + 24  [ . . * . . . ]
//! ```
//!
//! # What to do
//!
//! The tiles are loaded. Sum up the products, so that each element of `tile_b` is loaded once, and
//! write the 4 outputs. m, n and k are multiples of 32.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matmul_outputs(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let tile_a = shared_array![f32; 32 * 32];
    let tile_b = shared_array![f32; 32 * 32];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let top = thread::block_idx_y() as usize * 32;
    let column = thread::block_idx_x() as usize * 32 + tx;
    let mut acc = [0.0f32; 4];
    for start in (0..k).step_by(32) {
        for r in 0..4 {
            let y = ty + 8 * r;
            *tile_a.add(y * 32 + tx) = *a.add((top + y) * k + start + tx);
            *tile_b.add(y * 32 + tx) = *b.add((start + y) * n + column);
        }
        thread::sync_threads();
        // ---- your code: about 7 lines ----
        thread::sync_threads();
    }
    // ---- your code: about 3 lines ----
}

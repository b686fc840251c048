//! # Tiles at the edge
//!
//! m, n and k are any numbers now, and the last tiles reach past the matrices. What lies outside is
//! filled with zeros, which add nothing to a sum.
//!
//! ```text
//! A, k = 29             tile 0          tile 1
//!                  [ . . . . . . . | . . . . . 0 ]
//!                  [ . . . . . . . | . . . . . 0 ]
//! past row m - 1   [ 0 0 0 0 0 0 0 | 0 0 0 0 0 0 ]
//! ```
//!
//! # What to do
//!
//! This is `matmul_tiled` without any test. Put them in. A thread outside of C has no output, but
//! its part of the tiles is needed, and all threads must reach the barriers.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matmul_guarded(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let tile_a = shared_array![f32; 16 * 16];
    let tile_b = shared_array![f32; 16 * 16];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_y() as usize * 16 + ty;
    let column = thread::block_idx_x() as usize * 16 + tx;
    let mut sum = 0.0f32;
    for start in (0..k).step_by(16) {
        // ---- change these 2 lines ----
        *tile_a.add(ty * 16 + tx) = *a.add(row * k + start + tx);
        *tile_b.add(ty * 16 + tx) = *b.add((start + ty) * n + column);
        thread::sync_threads();
        for i in 0..16 {
            sum = (*tile_a.add(ty * 16 + i)).mul_add(*tile_b.add(i * 16 + tx), sum);
        }
        thread::sync_threads();
    }
    // ---- and this one ----
    *c.add(row * n + column) = sum;
}

//! # Two buffers
//!
//! `matmul_tiled` has two barriers for each k-tile: one before the tiles are read, one before the
//! next ones are written. With two copies of the tiles, the next ones are written to the other
//! copy, and one barrier per k-tile is enough. The loads of the next tiles are also in flight
//! while these are used.
//!
//! ```text
//! k-tile     0             1             2
//! read       copy 0        copy 1        copy 0
//! write      copy 1        copy 0        copy 1         the tiles of the next k-tile
//!                   barrier       barrier       barrier
//! ```
//!
//! # What to do
//!
//! The kernel is `matmul_tiled` with shared memory for two copies of each tile, of which it uses
//! the first. Load the tiles of k-tile 0 before the loop; in the loop, load those of the next
//! k-tile, if there is one, to the other copy, sum up this one, and pass one barrier.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn double_buffer(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    // Copy 0 begins at 0, copy 1 at 256.
    let tile_a = shared_array![f32; 2 * 256];
    let tile_b = shared_array![f32; 2 * 256];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_y() as usize * 16 + ty;
    let column = thread::block_idx_x() as usize * 16 + tx;
    let mut sum = 0.0f32;
    for k_tile in 0..k / 16 {
        let start = 16 * k_tile;
        *tile_a.add(ty * 16 + tx) = *a.add(row * k + start + tx);
        *tile_b.add(ty * 16 + tx) = *b.add((start + ty) * n + column);
        thread::sync_threads();
        for i in 0..16 {
            sum = (*tile_a.add(ty * 16 + i)).mul_add(*tile_b.add(i * 16 + tx), sum);
        }
        thread::sync_threads();
    }
    *c.add(row * n + column) = sum;
}

//! # Tiles
//!
//! In `matmul` each element of A is read by n threads, each of B by m. A block of 16 x 16 threads
//! that computes a tile of C needs 16 rows of A and 16 columns of B. It brings them to shared
//! memory in tiles of 16 x 16, each element with one load, and reads them 16 times there.
//!
//! ```text
//!                    B   [ | ]
//!                        [t| ]  start          for start in (0..k).step_by(16):
//!                        [ | ]                     load a tile of A and one of B
//!  A [ |t| | ]           [ | ]                     barrier
//!      start         C   [*| ]                     sum up 16 products
//!                                                  barrier
//! ```
//!
//! # What to do
//!
//! Fill the loop. m, n and k are multiples of 16. Thread (tx, ty) loads element (ty, tx) of each
//! tile.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matmul_tiled(
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
        // ---- your code: about 7 lines ----
    }
    *c.add(row * n + column) = sum;
}

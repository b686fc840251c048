//! # A block of registers
//!
//! A thread with 4 x 4 outputs loads 4 numbers of A and 4 of B, and makes 16 products of them: half
//! a load per product.
//!
//! ```text
//!                right  [ p q r s ]        4 numbers of B's tile, row i
//! down [ a ]     acc    [ . . . . ]
//!      [ b ]            [ . . . . ]        acc[y][x] += down[y] * right[x]
//!      [ c ]            [ . . . . ]
//!      [ d ]            [ . . . . ]        4 numbers of A's tile, column i
//! ```
//!
//! A block of 16 x 16 threads has 64 x 64 outputs: thread (tx, ty) has rows 4 ty to 4 ty + 3 and
//! columns 4 tx to 4 tx + 3. BK is 16. The tile of A is stored transposed, so that the 4 numbers of
//! a column are neighbours: `tile_a[i * 64 + row]`, `tile_b[i * 64 + column]`.
//! `F32x4::load(pointer)` brings 4 neighbours at once, as `[f32; 4]`.
//!
//! # What to do
//!
//! Sum up the products of a tile, and write the outputs, 4 at a time by
//! `F32x4::store(pointer, array)`. m and n are multiples of 64, k of 16.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

#[kernel]
pub unsafe fn matmul_registers(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let tile_a = shared_array![f32; 16 * 64];
    let tile_b = shared_array![f32; 16 * 64];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let t = ty * 16 + tx;
    let top = thread::block_idx_y() as usize * 64;
    let left = thread::block_idx_x() as usize * 64;
    let mut acc = [[0.0f32; 4]; 4];
    for start in (0..k).step_by(16) {
        for r in 0..4 {
            let (row, i) = (16 * r + t / 16, t % 16);
            *tile_a.add(i * 64 + row) = *a.add((top + row) * k + start + i);
            let (i, column) = (4 * r + t / 64, t % 64);
            *tile_b.add(i * 64 + column) = *b.add((start + i) * n + left + column);
        }
        thread::sync_threads();
        // ---- your code: about 9 lines ----
        thread::sync_threads();
    }
    // ---- your code: about 3 lines ----
}

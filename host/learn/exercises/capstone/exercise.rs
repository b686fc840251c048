//! # Ahead of register_blocked
//!
//! The rung `register_blocked` gives each thread 8 x 8 outputs: for 64 products it loads 16 numbers
//! from shared memory, by four requests of 16 bytes. Larger blocks of outputs need less: 16 x 8
//! outputs load 24 numbers for 128 products, six requests in place of eight.
//!
//! ```text
//! block of 128 threads, 128 x 128 outputs of C, tiles of 128 x 8 of A and 8 x 128 of B
//! thread (tx, ty), tx = t % 16, ty = t / 16:
//!   rows     16 ty ... 16 ty + 15
//!   columns  4 tx ... 4 tx + 3  and  64 + 4 tx ... 64 + 4 tx + 3
//! ```
//!
//! The tile of A is stored transposed, `tile_a[i * 128 + row]`, and that of B as it is, `tile_b[i *
//! 128 + column]`, so that `F32x4::load` brings four rows or four columns at once.
//!
//! # What to do
//!
//! Write the whole loop: fill the tiles, pass a barrier, add up the products, pass another barrier.
//! m and n are multiples of 128, k of 8. You are done where the kernel asks for fewer requests and
//! instructions than `register_blocked` at this size, and has no bank conflict more. `warpladder
//! profile register_blocked` shows where that one's are.

use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

#[kernel]
pub unsafe fn capstone(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let tile_a = shared_array![f32; 8 * 128];
    let tile_b = shared_array![f32; 8 * 128];
    let t = thread::thread_idx_x() as usize;
    let (tx, ty) = (t % 16, t / 16);
    let top = thread::block_idx_y() as usize * 128;
    let left = thread::block_idx_x() as usize * 128;
    let mut acc = [[0.0f32; 8]; 16];
    for start in (0..k).step_by(8) {
        // ---- your code: about 22 lines ----
    }
    for y in 0..16 {
        let [a, b, c_, d, e, f, g, h] = acc[y];
        let row = c.add((top + 16 * ty + y) * n + left + 4 * tx);
        F32x4::store(row, [a, b, c_, d]);
        F32x4::store(row.add(64), [e, f, g, h]);
    }
}

//! # A tile by `mma.sync`
//!
//! `Tf32::mma(&mut acc, &a, b)` multiplies a 16 x 8 tile of A by an 8 x 8 tile of B, and adds the
//! 16 x 8 products to `acc`. All 32 lanes execute it together, and each holds a few elements of
//! each tile. With `g = lane / 4` and `t = lane % 4`:
//!
//! ```text
//! a[0]  A(g, t)       a[1]  A(g + 8, t)      a[2]  A(g, t + 4)     a[3]  A(g + 8, t + 4)
//! b[0]  B(t, g)       b[1]  B(t + 4, g)
//! acc[0], acc[1]  C(g, 2 t), C(g, 2 t + 1)   acc[2], acc[3]  C(g + 8, 2 t), C(g + 8, 2 t + 1)
//! ```
//!
//! The elements are given as the bits of an `f32`: `x.to_bits()`. Of the fraction, the tensor core
//! takes the upper 10 bits; small whole numbers lose nothing.
//!
//! # What to do
//!
//! One warp computes C = A B with A of 16 x 32 and B of 32 x 8, row-major, in four steps of 8 along
//! k. Load the fragments of each step, and store `acc` at the end.

use cuda_std::mma::{Input, Tf32};
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn mma_tile(a: *const f32, b: *const f32, c: *mut f32) {
    let lane = thread::thread_idx_x() as usize;
    let (g, t) = (lane / 4, lane % 4);
    // Element (row, column) of A, which has 32 columns, and of B, which has 8.
    let a_at = |row: usize, column: usize| (*a.add(row * 32 + column)).to_bits();
    let b_at = |row: usize, column: usize| (*b.add(row * 8 + column)).to_bits();
    let mut acc = [0.0f32; 4];
    for k in (0..32).step_by(8) {
        // ---- your code: about 8 lines ----
    }
    // ---- your code: about 4 lines ----
}

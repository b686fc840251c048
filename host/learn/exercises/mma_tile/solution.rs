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
        let fragment_a = [
            a_at(g, k + t),
            a_at(g + 8, k + t),
            a_at(g, k + t + 4),
            a_at(g + 8, k + t + 4),
        ];
        let fragment_b = [b_at(k + t, g), b_at(k + t + 4, g)];
        Tf32::mma(&mut acc, &fragment_a, fragment_b);
    }
    *c.add(g * 8 + 2 * t) = acc[0];
    *c.add(g * 8 + 2 * t + 1) = acc[1];
    *c.add((g + 8) * 8 + 2 * t) = acc[2];
    *c.add((g + 8) * 8 + 2 * t + 1) = acc[3];
}

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
        for i in 0..16 {
            let down = F32x4::load(tile_a.add(i * 64 + 4 * ty));
            let right = F32x4::load(tile_b.add(i * 64 + 4 * tx));
            for y in 0..4 {
                for x in 0..4 {
                    acc[y][x] = down[y].mul_add(right[x], acc[y][x]);
                }
            }
        }
        thread::sync_threads();
    }
    for y in 0..4 {
        F32x4::store(c.add((top + 4 * ty + y) * n + left + 4 * tx), acc[y]);
    }
}

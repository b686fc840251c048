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
        let row = a.add((top + t) * k + start);
        for half in 0..2 {
            let elements = F32x4::load(row.add(4 * half));
            for i in 0..4 {
                *tile_a.add((4 * half + i) * 128 + t) = elements[i];
            }
            let (i, column) = (4 * half + t / 32, t % 32 * 4);
            let elements = F32x4::load(b.add((start + i) * n + left + column));
            F32x4::store(tile_b.add(i * 128 + column), elements);
        }
        thread::sync_threads();
        for i in 0..8 {
            let (tile_a, tile_b) = (tile_a.add(i * 128 + 16 * ty), tile_b.add(i * 128 + 4 * tx));
            let down = [0, 1, 2, 3].map(|part| F32x4::load(tile_a.add(4 * part)));
            let right = [F32x4::load(tile_b), F32x4::load(tile_b.add(64))];
            for y in 0..16 {
                for x in 0..8 {
                    acc[y][x] = down[y / 4][y % 4].mul_add(right[x / 4][x % 4], acc[y][x]);
                }
            }
        }
        thread::sync_threads();
    }
    for y in 0..16 {
        let [a, b, c_, d, e, f, g, h] = acc[y];
        let row = c.add((top + 16 * ty + y) * n + left + 4 * tx);
        F32x4::store(row, [a, b, c_, d]);
        F32x4::store(row.add(64), [e, f, g, h]);
    }
}

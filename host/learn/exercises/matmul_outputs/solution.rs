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
        for i in 0..32 {
            let right = *tile_b.add(i * 32 + tx);
            for r in 0..4 {
                let left = *tile_a.add((ty + 8 * r) * 32 + i);
                acc[r] = left.mul_add(right, acc[r]);
            }
        }
        thread::sync_threads();
    }
    for r in 0..4 {
        *c.add((top + ty + 8 * r) * n + column) = acc[r];
    }
}

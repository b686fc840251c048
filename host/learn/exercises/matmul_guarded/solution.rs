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
        *tile_a.add(ty * 16 + tx) = if row < m && start + tx < k {
            *a.add(row * k + start + tx)
        } else {
            0.0
        };
        *tile_b.add(ty * 16 + tx) = if start + ty < k && column < n {
            *b.add((start + ty) * n + column)
        } else {
            0.0
        };
        thread::sync_threads();
        for i in 0..16 {
            sum = (*tile_a.add(ty * 16 + i)).mul_add(*tile_b.add(i * 16 + tx), sum);
        }
        thread::sync_threads();
    }
    if row < m && column < n {
        *c.add(row * n + column) = sum;
    }
}

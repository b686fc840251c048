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
    *tile_a.add(ty * 16 + tx) = *a.add(row * k + tx);
    *tile_b.add(ty * 16 + tx) = *b.add(ty * n + column);
    thread::sync_threads();
    for k_tile in 0..k / 16 {
        let (this, other) = (256 * (k_tile % 2), 256 * ((k_tile + 1) % 2));
        let start = 16 * (k_tile + 1);
        if start < k {
            *tile_a.add(other + ty * 16 + tx) = *a.add(row * k + start + tx);
            *tile_b.add(other + ty * 16 + tx) = *b.add((start + ty) * n + column);
        }
        for i in 0..16 {
            sum = (*tile_a.add(this + ty * 16 + i)).mul_add(*tile_b.add(this + i * 16 + tx), sum);
        }
        thread::sync_threads();
    }
    *c.add(row * n + column) = sum;
}

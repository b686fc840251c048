use cuda_std::prelude::*;

/// The offset of an element in the tile.
#[inline(always)]
fn offset(row: usize, column: usize) -> usize {
    row * 32 + (column ^ row)
}

#[kernel]
pub unsafe fn transpose_swizzled(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let tile = shared_array![f32; 32 * 32];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let left = thread::block_idx_x() as usize * 32;
    let top = thread::block_idx_y() as usize * 32;
    *tile.add(offset(ty, tx)) = *input.add((top + ty) * columns + left + tx);
    thread::sync_threads();
    *output.add((left + ty) * rows + top + tx) = *tile.add(offset(tx, ty));
}

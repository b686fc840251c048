use cuda_std::prelude::*;

#[kernel]
pub unsafe fn blur(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let tile = shared_array![f32; 18 * 18];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let top = thread::block_idx_y() as usize * 16;
    let left = thread::block_idx_x() as usize * 16;
    let mut index = ty * 16 + tx;
    while index < 18 * 18 {
        let (row, column) = (top + index / 18, left + index % 18);
        let inside = row >= 1 && row <= rows && column >= 1 && column <= columns;
        *tile.add(index) = if inside {
            *input.add((row - 1) * columns + column - 1)
        } else {
            0.0
        };
        index += 256;
    }
    thread::sync_threads();
    let (row, column) = (top + ty, left + tx);
    if row < rows && column < columns {
        let mut sum = 0.0;
        for r in 0..3 {
            for c in 0..3 {
                sum += *tile.add((ty + r) * 18 + tx + c);
            }
        }
        *output.add(row * columns + column) = sum;
    }
}

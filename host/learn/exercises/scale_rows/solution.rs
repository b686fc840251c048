use cuda_std::prelude::*;

#[kernel]
pub unsafe fn scale_rows(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    if row < rows && column < columns {
        let i = row * columns + column;
        *output.add(i) = row as f32 * *input.add(i);
    }
}

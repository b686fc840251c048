use cuda_std::prelude::*;

#[kernel]
pub unsafe fn transpose(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    if row < rows && column < columns {
        *output.add(column * rows + row) = *input.add(row * columns + column);
    }
}

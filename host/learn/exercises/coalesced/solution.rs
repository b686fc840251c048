use cuda_std::prelude::*;

#[kernel]
pub unsafe fn coalesced(input: *const f32, output: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    if row < rows && column < columns {
        let i = row * columns + column;
        *output.add(i) = *input.add(i) + 1.0;
    }
}

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn outer_sum(
    a: *const f32,
    b: *const f32,
    output: *mut f32,
    rows: usize,
    columns: usize,
) {
    let column = thread::index_2d().x as usize;
    let row = thread::index_2d().y as usize;
    if row < rows && column < columns {
        *output.add(row * columns + column) = *a.add(row) + *b.add(column);
    }
}

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn wrong_edge(a: *const f32, b: *const f32, c: *mut f32, rows: usize, columns: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    if row < rows && column < columns {
        let i = row * columns + column;
        *c.add(i) = *a.add(i) + *b.add(i);
    }
}

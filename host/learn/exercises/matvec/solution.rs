use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matvec(matrix: *const f32, x: *const f32, y: *mut f32, rows: usize, columns: usize) {
    let row = thread::index_1d() as usize;
    if row < rows {
        let mut sum = 0.0f32;
        for column in 0..columns {
            sum = (*matrix.add(row * columns + column)).mul_add(*x.add(column), sum);
        }
        *y.add(row) = sum;
    }
}

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matmul(a: *const f32, b: *const f32, c: *mut f32, m: usize, n: usize, k: usize) {
    let thread::UVec2 { x, y } = thread::index_2d();
    let (row, column) = (y as usize, x as usize);
    if row < m && column < n {
        let mut sum = 0.0f32;
        for i in 0..k {
            sum = (*a.add(row * k + i)).mul_add(*b.add(i * n + column), sum);
        }
        *c.add(row * n + column) = sum;
    }
}

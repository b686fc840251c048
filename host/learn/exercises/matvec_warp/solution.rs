use cuda_std::prelude::*;

#[kernel]
pub unsafe fn matvec_warp(
    matrix: *const f32,
    x: *const f32,
    y: *mut f32,
    rows: usize,
    columns: usize,
) {
    let i = thread::index_1d() as usize;
    let (row, lane) = (i / 32, i % 32);
    if row >= rows {
        // The whole warp leaves, since its lanes have the same row.
        return;
    }
    let mut sum = 0.0f32;
    let mut column = lane;
    while column < columns {
        sum = (*matrix.add(row * columns + column)).mul_add(*x.add(column), sum);
        column += 32;
    }
    let mut mask = 16;
    while mask > 0 {
        sum += warp::warp_shuffle_xor(warp::FULL_MASK, sum, mask, 32).0;
        mask /= 2;
    }
    if lane == 0 {
        *y.add(row) = sum;
    }
}

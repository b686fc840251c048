#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch, stdarch_nvptx))]
#![allow(missing_docs)]
use cuda_std::*;
use cuda_std::thread::*;
/// naive
#[kernel(max_threads = 256, min_blocks = 2)]
pub unsafe fn naive(a: &[f32], b: &[f32], c: *mut f32, m: u32, n: u32, k: u32) {
    let (col, row) = (block_idx_x() * block_dim_x() + thread_idx_x(), block_idx_y() * block_dim_y() + thread_idx_y());
    if row >= m || col >= n { return; }
    let (row, col, n, k) = (row as usize, col as usize, n as usize, k as usize);
    let mut sum = 0.0;
    for i in 0..k {
        sum += a[row * k + i] * b[i * n + col];
    }
    unsafe { *c.add(row * n + col) = sum; }
}
#[kernel]
pub unsafe fn tiled(a: &[f32], b: &[f32], c: *mut f32, n: u32, k: u32) {
    const W: usize = 16;
    let ta = shared_array![f32; W * W];
    let tb = shared_array![f32; W * W];
    let (tx, ty) = (thread_idx_x() as usize, thread_idx_y() as usize);
    let col = block_idx_x() as usize * W + tx;
    let row = block_idx_y() as usize * W + ty;
    let (n, k) = (n as usize, k as usize);
    let mut sum = 0.0;
    let mut t = 0;
    while t < k {
        unsafe {
            *ta.add(ty * W + tx) = a[row * k + t + tx];
            *tb.add(ty * W + tx) = b[(t + ty) * n + col];
            sync_threads();
            for i in 0..W { sum += *ta.add(ty * W + i) * *tb.add(i * W + tx); }
            sync_threads();
        }
        t += W;
    }
    unsafe { *c.add(row * n + col) = sum; }
}
#[kernel]
pub unsafe fn vec4(a: &[cuda_std::vector::F32x4], b: &[cuda_std::vector::S32x4], c: *mut cuda_std::vector::F32x4, d: *mut cuda_std::vector::S32x4) {
    let i = thread_idx_x() as usize;
    unsafe { *c.add(i) = *a.get_unchecked(i); *d.add(i) = *b.get_unchecked(i); }
}

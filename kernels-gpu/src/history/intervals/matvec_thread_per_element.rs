//! `matvec_thread_per_element`: M threads per vector.
//!
//! # Idea
//! Each thread computes one element of one product: a dot product of a row of the matrix with the
//! vector. Stores are coalesced at last, and the M threads of a vector share its loads through the
//! caches. But the N multiply-adds of a thread depend on each other, and the row differs from lane
//! to lane, so the matrix is no operand any more: the constant bank serves one address at a time.
//!
//! # Thread mapping
//! Thread t computes element t mod M of vectors t / M, t / M + T / M, ….
//!
//! # Preconditions
//! M and N from 4 to 32, as named or, with `_any`, as told; any number of vectors. Threads beyond a
//! multiple of M of the grid stay idle.
//!
//! # What changed since the rung before
//! Against `matvec_lcs`: M threads where there was one.
//!
//! # Source
//! 002 ("mxv_o_per_thd"): 497 cycles, P = 11,502 threads on a GTX 1080, 18 warps per
//! multiprocessor.

use super::Size;
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
unsafe fn body<const M: usize, const N: usize>(
    size: Size,
    element: impl Fn(usize, usize) -> f32,
    input: &[f32],
    output: *mut f32,
) {
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    // 32-bit divisions: 64-bit ones take five times the instructions.
    let vectors = (threads / size.m as u32) as usize;
    let mut h = (thread::index_1d() / size.m as u32) as usize;
    let r = (thread::index_1d() % size.m as u32) as usize;
    if h >= vectors {
        return;
    }
    while h < input.len() / size.n {
        let mut sum = 0.0f32;
        // SAFETY: h is a whole vector of the input and of the output, r < m.
        unsafe {
            for c in 0..N {
                if c < size.n {
                    sum = element(r, c).mul_add(*input.get_unchecked(h * size.n + c), sum);
                }
            }
            *output.add(h * size.m + r) = sum;
        }
        h += vectors;
    }
}
// ANCHOR_END: body

matvec_kernels! {
    body(indexed), "One thread per element of the product.": matvec_thread_per_element_any,
    matvec_thread_per_element = 16, matvec_thread_per_element_4 = 4,
    matvec_thread_per_element_8 = 8, matvec_thread_per_element_12 = 12,
    matvec_thread_per_element_20 = 20, matvec_thread_per_element_24 = 24,
    matvec_thread_per_element_28 = 28, matvec_thread_per_element_32 = 32
}

//! `matvec_lcs`: load all, compute, store.
//!
//! # Idea
//! A thread computes a whole product. It loads the N elements of its vector first, so that all
//! their latencies overlap, then does M · N multiply-adds on M independent accumulators, then
//! stores M elements. The lanes of a warp touch elements N apart, but all bytes of a sector are
//! used by the loads that follow.
//!
//! # Thread mapping
//! Thread t of T takes vectors t, t + T, t + 2 T, ….
//!
//! # Preconditions
//! M and N from 4 to 32, as named or, with `_any`, as told; any number of vectors.
//!
//! # What changed since the rung before
//! The first rung of its family.
//!
//! # Source
//! 002 ("MXV-LCS"): 720 cycles for M = N = 16 on a CC 5.1 part, 976 on CC 7.5; peak at 4 warps per
//! multiprocessor of a GTX 1080.

use super::Size;
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
unsafe fn body<const M: usize, const N: usize>(
    size: Size,
    matrix: &[[f32; N]; M],
    input: &[f32],
    output: *mut f32,
) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut h = thread::index_1d() as usize;
    while h < input.len() / size.n {
        let mut vector = [0.0f32; N];
        let mut accumulators = [0.0f32; M];
        // SAFETY: h is a whole vector of the input and of the output.
        unsafe {
            for c in 0..N {
                if c < size.n {
                    vector[c] = *input.get_unchecked(h * size.n + c);
                }
            }
            for c in 0..N {
                if c < size.n {
                    for r in 0..M {
                        accumulators[r] = matrix[r][c].mul_add(vector[c], accumulators[r]);
                    }
                }
            }
            for r in 0..M {
                if r < size.m {
                    *output.add(h * size.m + r) = accumulators[r];
                }
            }
        }
        h += threads;
    }
}
// ANCHOR_END: body

matvec_kernels! {
    body(constant), "One thread per vector: load all, compute, store.": matvec_lcs_any,
    matvec_lcs = 16, matvec_lcs_4 = 4, matvec_lcs_8 = 8, matvec_lcs_12 = 12, matvec_lcs_20 = 20,
    matvec_lcs_24 = 24, matvec_lcs_28 = 28, matvec_lcs_32 = 32
}

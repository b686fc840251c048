//! `matvec_interleaved`: load one element, use it, load the next.
//!
//! # Idea
//! The same products with fewer registers: an element of the vector is loaded when it is needed and
//! forgotten after. The price is latency: N loads that wait for each other instead of N that
//! overlap, an eighth of them from DRAM and the rest from the L2 cache. More threads have to hide
//! it.
//!
//! # Thread mapping
//! As in `matvec_lcs`.
//!
//! # Preconditions
//! M and N from 4 to 32, as named or, with `_any`, as told; any number of vectors.
//!
//! # What changed since the rung before
//! Against `matvec_lcs`: the loads move into the loop over columns. The compiler would move them
//! out again, so each address waits for a sum of the column before.
//!
//! # Source
//! 002 ("MXV-(LC)*S"), which assumes that the compiler does not reorder: P = 5,609.4 threads on a
//! GTX 1080, 280 threads or 8 warps per multiprocessor.

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
    // 0, which no compiler can know: the grid is one-dimensional.
    let zero = thread::grid_dim_y() - 1;
    let mut h = thread::index_1d() as usize;
    while h < input.len() / size.n {
        let mut accumulators = [0.0f32; M];
        // SAFETY: h is a whole vector of the input and of the output.
        unsafe {
            for c in 0..N {
                if c < size.n {
                    // The address waits for a sum of the column before, so the loads cannot be
                    // moved ahead.
                    let wait = (accumulators[M - 1].to_bits() & zero) as usize;
                    let element = *input.get_unchecked(h * size.n + c + wait);
                    for r in 0..M {
                        accumulators[r] = matrix[r][c].mul_add(element, accumulators[r]);
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
    body(constant), "One thread per vector: load an element, use it, load the next.":
    matvec_interleaved_any,
    matvec_interleaved = 16, matvec_interleaved_4 = 4, matvec_interleaved_8 = 8,
    matvec_interleaved_12 = 12, matvec_interleaved_20 = 20, matvec_interleaved_24 = 24,
    matvec_interleaved_28 = 28, matvec_interleaved_32 = 32
}

//! Source 004: Wolfe, "Optimizing GPU Kernels". The series, and what its kernels share.
//!
//! | file | rungs |
//! |---|---|
//! | [`wolfe_k1`] | `wolfe_ks`, `wolfe_k1_inverted`, `wolfe_k1_w32` … `wolfe_k1_w256` |
//! | [`wolfe_k2`] | `wolfe_k2_w32`, `wolfe_k2_w64`, `wolfe_k2_w64_k2`, `wolfe_k2_w128` |
//! | [`wolfe_k3`] | `wolfe_k3_w32_i2`, `wolfe_k3_w32_i4`, `wolfe_k3_w64_i2` |
//! | [`wolfe_k4`] | `wolfe_k4_w32_j2` … `wolfe_k4_w128_j4_k4` |
//! | [`wolfe_k4_guarded`] | `wolfe_k4_guarded` |
//! | [`wolfe_k5`] | `wolfe_k5` |
//!
//! # Names
//! The source computes `a = b · c`, column-major, with a of n × m and an inner extent p. Here that
//! is C = A · B: its b is A, its c is B, its a is C; its n, m, p are m, n, k; its pitches are
//! leading dimensions. Its loops keep their names: i runs along rows of C, j along columns, k along
//! the sum.
//!
//! | rung | width w | i unrolled | j unrolled | k unrolled |
//! |---|---|---|---|---|
//! | `wolfe_k2_w…` | 32, 64, 128 | 1 | 1 | 1, 2 |
//! | `wolfe_k3_w…_i…` | 32, 64 | 2, 4 | 1 | 1 |
//! | `wolfe_k4_w…_j…` | 32, 64, 128 | 1 | 2, 4 | 1, 2, 4 |

use crate::geometry::{Along, Geometry};
use crate::history::Pitched;
use cuda_std::hint::rolled;
use cuda_std::prelude::*;

pub mod wolfe_k1;
pub mod wolfe_k2;
pub mod wolfe_k3;
pub mod wolfe_k4;
pub mod wolfe_k4_guarded;
pub mod wolfe_k5;

/// Geometry of a kernel whose block of `width` threads owns `width` · `rows` rows and `columns`
/// columns of C.
pub const fn geometry(width: usize, rows: usize, columns: usize) -> Geometry {
    Geometry::Tiles {
        block: [width as u32, 1, 1],
        tile: [columns as u32, (width * rows) as u32],
        grid_x: Along::Rows,
    }
}

// ANCHOR: strip
/// The body of K2, K3 and K4: a strip of `W` elements of B's columns in shared memory, and `I` ·
/// `J` accumulators per thread: rows i, i + W, … and columns j, j + 1, …
///
/// The loop over the strip is unrolled by `K` multiply-adds and is otherwise kept rolled, as the
/// source's compiler left it: unrolling is what tells these rungs apart.
///
/// # Safety
/// As for [`column_major_kernels`](super): m is a multiple of `W` · `I`, n of `J` and k of `W`.
#[inline(always)]
pub(super) unsafe fn strip<const W: usize, const I: usize, const J: usize, const K: usize>(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    size: Pitched,
) {
    const { assert!(W.is_multiple_of(32) && W.is_multiple_of(K)) };
    let strips = shared_array![f32; J * W];
    let tx = thread::thread_idx_x() as usize;
    let i = thread::block_idx_x() as usize * (W * I) + tx;
    let j = thread::block_idx_y() as usize * J;

    let mut accumulators = [[0.0f32; J]; I];
    for strip in 0..size.k / W {
        let start = strip * W;
        // SAFETY: i + W · (I - 1) < m, j + J - 1 < n and start + W <= k by the multiples. Each
        // thread writes its own element of each strip and reads those of others between the two
        // barriers only.
        unsafe {
            for dj in 0..J {
                *strips.add(dj * W + tx) = *b.get_unchecked(start + tx + size.ldb * (j + dj));
            }
            thread::sync_threads();
            let mut k = 0;
            while k < W {
                for dk in 0..K {
                    for di in 0..I {
                        let left = *a.get_unchecked(i + di * W + size.lda * (start + k + dk));
                        for dj in 0..J {
                            let right = *strips.add(dj * W + k + dk);
                            accumulators[di][dj] = left.mul_add(right, accumulators[di][dj]);
                        }
                    }
                }
                k = rolled(k + K);
            }
            thread::sync_threads();
        }
    }
    for di in 0..I {
        for dj in 0..J {
            // SAFETY: inside of C by the multiples, and no other thread writes these elements.
            unsafe { *c.add(i + di * W + size.ldc * (j + dj)) = accumulators[di][dj] };
        }
    }
}
// ANCHOR_END: strip

//! Matrix products on the host: what the kernels are compared with, as source 004 does.
//!
//! All compute C = A · B in `f32`, row-major and dense, and write every element of C.

use ::nalgebra::{DMatrixView, DMatrixViewMut};
use rayon::prelude::*;

/// A product on the host: A, B, C and m, n, k.
pub type CpuProduct = fn(&[f32], &[f32], &mut [f32], [usize; 3]);

/// Rows of A and C that a block of the blocked products has.
const BLOCK_ROWS: usize = 32;

/// Extent of a block along k: with `BLOCK_COLUMNS` columns, 256 KiB of B, which stays in the L2
/// cache of a core.
const BLOCK_K: usize = 128;

/// Columns of B and C that a block has.
const BLOCK_COLUMNS: usize = 512;

// ANCHOR: naive
/// Three loops, the inner one along rows of B and C.
pub fn naive(a: &[f32], b: &[f32], c: &mut [f32], [m, n, k]: [usize; 3]) {
    c.fill(0.0);
    for i in 0..m {
        for l in 0..k {
            let left = a[i * k + l];
            for j in 0..n {
                c[i * n + j] += left * b[l * n + j];
            }
        }
    }
}
// ANCHOR_END: naive

// ANCHOR: strided
/// Three loops, the inner one along columns of A and C: every access is a row apart from the one
/// before.
pub fn strided(a: &[f32], b: &[f32], c: &mut [f32], [m, n, k]: [usize; 3]) {
    c.fill(0.0);
    for j in 0..n {
        for l in 0..k {
            let right = b[l * n + j];
            for i in 0..m {
                c[i * n + j] += a[i * k + l] * right;
            }
        }
    }
}
// ANCHOR_END: strided

/// [`naive`] in blocks that fit in the caches.
pub fn blocked(a: &[f32], b: &[f32], c: &mut [f32], [m, n, k]: [usize; 3]) {
    c.fill(0.0);
    for top in (0..m).step_by(BLOCK_ROWS) {
        let bottom = m.min(top + BLOCK_ROWS);
        blocked_rows(
            &a[top * k..bottom * k],
            b,
            &mut c[top * n..bottom * n],
            n,
            k,
        );
    }
}

/// [`blocked`] with its blocks of rows on all cores.
pub fn blocked_parallel(a: &[f32], b: &[f32], c: &mut [f32], [_, n, k]: [usize; 3]) {
    c.fill(0.0);
    if n == 0 || k == 0 {
        return;
    }
    c.par_chunks_mut(BLOCK_ROWS * n)
        .zip(a.par_chunks(BLOCK_ROWS * k))
        .for_each(|(c, a)| blocked_rows(a, b, c, n, k));
}

/// The blocks of some rows of A and C.
fn blocked_rows(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize) {
    if n == 0 {
        return;
    }
    for left in (0..n).step_by(BLOCK_COLUMNS) {
        let right = n.min(left + BLOCK_COLUMNS);
        for start in (0..k).step_by(BLOCK_K) {
            let end = k.min(start + BLOCK_K);
            for (row, c) in c.chunks_exact_mut(n).enumerate() {
                let c = &mut c[left..right];
                for l in start..end {
                    let factor = a[row * k + l];
                    let b = &b[l * n + left..l * n + right];
                    for (sum, &element) in c.iter_mut().zip(b) {
                        *sum += factor * element;
                    }
                }
            }
        }
    }
}

/// nalgebra's product.
pub fn nalgebra(a: &[f32], b: &[f32], c: &mut [f32], [m, n, k]: [usize; 3]) {
    // nalgebra is column-major and sees transposes of row-major matrices: Cᵀ = Bᵀ · Aᵀ.
    let a_t = DMatrixView::from_slice(a, k, m);
    let b_t = DMatrixView::from_slice(b, n, k);
    DMatrixViewMut::from_slice(c, n, m).gemm(1.0, &b_t, &a_t, 0.0);
}

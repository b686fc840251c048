//! The problem, as every kernel of the library takes it. How it is divided among blocks is told by
//! the parameters of the [tile scheduler](super::scheduler).

use cuda_std::prelude::*;

/// C ← α · op(A) · op(B) + β · C, passed by value. Sizes and distances are in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmParams<T> {
    /// Rows of C and op(A).
    pub m: u32,
    /// Columns of C and op(B).
    pub n: u32,
    /// Columns of op(A), rows of op(B).
    pub k: u32,
    /// Leading dimension of A: from one row to the next as it is stored; at most [`MAX_LEADING`].
    pub lda: u32,
    /// Leading dimension of B, at most [`MAX_LEADING`].
    pub ldb: u32,
    /// Leading dimension of C.
    pub ldc: u32,
    /// 1 where A is stored as k × m.
    pub transpose_a: u32,
    /// 1 where B is stored as n × k.
    pub transpose_b: u32,
    /// From one matrix A of a batch to the next.
    pub stride_a: u64,
    /// From one matrix B of a batch to the next.
    pub stride_b: u64,
    /// From one matrix C of a batch to the next.
    pub stride_c: u64,
    /// α.
    pub alpha: T,
    /// β. Where it is 0, C is not read.
    pub beta: T,
}

/// The largest leading dimension of A and B: offsets of 256 rows fit in 32 bits.
pub const MAX_LEADING: u32 = 1 << 24;

/// Leading dimension of the partial sums of `n` columns in the workspace: whole vectors of 4.
pub const fn partial_sums_pitch(n: u32) -> usize {
    (n as usize).next_multiple_of(4)
}

impl<T: GpuFloat> GemmParams<T> {
    /// op(A) · op(B) of dense matrices, not batched.
    pub const fn dense([m, n, k]: [u32; 3], [transpose_a, transpose_b]: [bool; 2]) -> Self {
        GemmParams {
            m,
            n,
            k,
            lda: if transpose_a { m } else { k },
            ldb: if transpose_b { k } else { n },
            ldc: n,
            transpose_a: transpose_a as u32,
            transpose_b: transpose_b as u32,
            stride_a: 0,
            stride_b: 0,
            stride_c: 0,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }
}

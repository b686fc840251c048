//! The parameters of a GEMM, as every kernel of the library takes them.

use super::simt::promotion;
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
    /// Split-K factor; at least 1.
    pub splits: u32,
    /// Elements along k of a split.
    pub k_per_split: u32,
    /// Data-parallel tiles: each has one block. [`u32::MAX`] where there are no stream-K tiles;
    /// otherwise `splits` and the batch are 1.
    pub data_parallel_tiles: u32,
    /// Stream-K tiles: the other ones, each of which has several blocks; at least 1.
    pub stream_k_tiles: u32,
    /// Work units of a stream-K tile.
    pub stream_k_splits: u32,
    /// Elements along k of a stream-K tile's first work unit.
    pub stream_k_first: u32,
    /// Elements along k of each of its other work units.
    pub stream_k_rest: u32,
    /// Elements along k after which `sgemm` promotes its accumulators: a power of two that BK
    /// divides. See [`promotion`].
    pub promotion_interval: u32,
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
            splits: 1,
            k_per_split: k,
            data_parallel_tiles: u32::MAX,
            stream_k_tiles: 1,
            stream_k_splits: 1,
            stream_k_first: k,
            stream_k_rest: 0,
            promotion_interval: promotion::NEVER,
            stride_a: 0,
            stride_b: 0,
            stride_c: 0,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }
}

//! The parameters of a GEMM, as kernels take them.

use super::simt::promotion;
use cuda_std::prelude::*;

/// Parameters of a product, passed by value. Sizes and distances are in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmParams<T> {
    /// Rows of C and op(A).
    pub m: u32,
    /// Columns of C and op(B).
    pub n: u32,
    /// Columns of op(A), rows of op(B).
    pub k: u32,
    /// Distance of two rows of A as it is stored; at most [`MAX_LEADING`].
    pub lda: u32,
    /// Distance of two rows of B as it is stored; at most [`MAX_LEADING`].
    pub ldb: u32,
    /// Distance of two rows of C.
    pub ldc: u32,
    /// 1 where A is stored as k × m.
    pub transpose_a: u32,
    /// 1 where B is stored as n × k.
    pub transpose_b: u32,
    /// Into how many parts k is split; at least 1.
    pub splits: u32,
    /// Extent of a part along k.
    pub k_per_split: u32,
    /// Tiles that one block computes; [`u32::MAX`] where none is cut. Otherwise `splits` and the batch are 1.
    pub data_parallel_tiles: u32,
    /// The number of the other tiles; at least 1.
    pub stream_k_tiles: u32,
    /// Into how many parts along k these are cut.
    pub stream_k_splits: u32,
    /// Extent of the first part of a tile along k.
    pub stream_k_first: u32,
    /// Extent of its other parts.
    pub stream_k_rest: u32,
    /// Extent along k of what `sgemm` accumulators in one chain: a power of two that its tiles' depth divides. See [`slices`].
    pub promotion_interval: u32,
    /// Distance of two matrices A of a batch.
    pub stride_a: u64,
    /// Distance of two matrices B of a batch.
    pub stride_b: u64,
    /// Distance of two matrices C of a batch.
    pub stride_c: u64,
    /// α.
    pub alpha: T,
    /// β. Where it is 0, C is not read.
    pub beta: T,
}

/// The largest leading dimension of A and B: 256 rows of a tile are told apart by 32 bits.
pub const MAX_LEADING: u32 = 1 << 24;

/// Distance of two rows of partial products of `n` columns: whole vectors, whatever `n` is.
pub const fn partials_pitch(n: u32) -> usize {
    (n as usize).next_multiple_of(4)
}

impl<T: GpuFloat> GemmParams<T> {
    /// The product of one pair of dense matrices, op(A) · op(B).
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

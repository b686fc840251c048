//! `sgemm_reduce`, `dgemm_reduce`: the sum of partial products, C ← α · (P₁ + P₂ + …) + β · C.
//!
//! # Idea
//! Where C has fewer tiles than the GPU has multiprocessors, blocks share a tile and split k. Their sums must meet: here
//! in a second kernel, in the order of the parts, so that the result is the same in every run, which atomic additions
//! would not give.
//!
//! # Thread mapping
//! A thread per 4 elements of a row: x along the rows of C, y along their numbers, in steps of the grid's height; z counts
//! the batch.
//!
//! # Preconditions
//! None. The partial products are those of a launch with the same [`Gemm`].
//!
//! # What changed since the rung before
//! It is the second half of a product whose k is split.
//!
//! # Source
//! Beyond the sources; cuBLAS does the same.

use super::scalar::Scalar;
use super::{Gemm, Target, partials_pitch};
use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 256;

/// Elements of a row that a thread adds up, side by side.
const SIDE_BY_SIDE: usize = 4;

/// Elements of C in a row that a block adds up.
pub const COLUMNS: usize = THREADS * SIDE_BY_SIDE;

/// Partial sums that a thread loads before it adds the first.
const AHEAD: usize = 4;

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn body<T: Scalar>(partials: *const T, c: *mut T, gemm: Gemm<T>) {
    let column =
        thread::block_idx_x() as usize * COLUMNS + thread::thread_idx_x() as usize * SIDE_BY_SIDE;
    let batch = thread::block_idx_z() as usize;
    let (rows, columns, splits) = (gemm.m as usize, gemm.n as usize, gemm.splits as usize);
    let pitch = partials_pitch(gemm.n);
    if column >= columns {
        return;
    }
    let target = Target::of_c(&gemm, batch as u32, c);
    let mut row = thread::block_idx_y() as usize;
    while row < rows {
        let first = partials.wrapping_add((batch * splits * rows + row) * pitch + column);
        let mut sums = [T::ZERO; SIDE_BY_SIDE];
        let mut split = 0;
        while split < splits {
            let mut loaded = [[T::ZERO; SIDE_BY_SIDE]; AHEAD];
            for i in 0..AHEAD {
                if split + i < splits {
                    // SAFETY: inside of the partial products by the test, and aligned because rows are whole vectors.
                    loaded[i] = unsafe { T::load_4(first.add((split + i) * rows * pitch)) };
                }
            }
            for i in 0..AHEAD {
                for q in 0..SIDE_BY_SIDE {
                    sums[q] += loaded[i][q];
                }
            }
            split += AHEAD;
        }
        for q in 0..SIDE_BY_SIDE {
            // SAFETY: no other thread owns the element.
            unsafe { target.store(row, column + q, sums[q]) };
        }
        row += thread::grid_dim_y() as usize;
    }
}

macro_rules! reduce_kernels {
    ($($element:ty: $name:ident;)*) => {
        $(
            #[doc = concat!("Adds up partial products of `", stringify!($element), "`.")]
            ///
            /// # Safety
            /// `partials` holds the partial products of a launch with the same `gemm`, `c` is its C. The grid has
            /// n / [`COLUMNS`], rounded up, blocks in x, any number in y, and the number of matrices in z.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(partials: *const $element, c: *mut $element, gemm: Gemm<$element>) {
                // SAFETY: passed on to the caller.
                unsafe { body(partials, c, gemm) }
            }
        )*
    };
}

reduce_kernels! {
    f32: sgemm_reduce;
    f64: dgemm_reduce;
}

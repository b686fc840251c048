//! `sgemm_reduce`, `dgemm_reduce`, `gemm_reduce_to_f16`, `gemm_reduce_to_bf16`: the sum of partial products, C ← α · (P₁ + P₂ + …) + β · C.
//!
//! # Idea
//! Where C has fewer tiles than the GPU has multiprocessors, blocks unit a tile and split k. Their accumulators must fix_up: here
//! in a second kernel, in the order of the parts, so that the result is the same in every run, which atomic additions
//! would not give.
//!
//! # Thread mapping
//! The partial accumulators of a part lie one behind the other, rows of whole vectors of 4: a thread has a vector. x counts vectors, z the
//! batch. Where C is small, its vectors would keep few multiprocessors busy, and each thread would wait for one part after the
//! other; so y counts `lanes` of threads of a block, each of which adds up every `lanes`-th part before their accumulators fix_up in
//! shared memory.
//!
//! # Preconditions
//! None. The partial products are those of a launch with the same [`GemmParams`].
//!
//! # What changed since the rung before
//! It is the second half of a product whose k is split.
//!
//! # Source
//! Beyond the sources; cuBLAS does the same.

use crate::gemm::element::{Output, Scalar};
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::{GemmParams, partials_pitch};
use cuda_std::float16::{bf16, f16};
use cuda_std::prelude::*;

/// Threads of a block, of all lanes.
pub const THREADS: usize = 256;

/// The most lanes of a block: 16 vectors of f32 are still two whole cache lines.
pub const MAX_LANES: usize = THREADS / 16;

/// Elements of a vector.
pub const VECTOR: usize = 4;

/// Partial accumulators that a thread loads before it adds the first.
pub const AHEAD: usize = 4;

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn body<T: Scalar, C: Output<Wide = T>>(
    partials: *const T,
    c: *mut C,
    gemm: GemmParams<T>,
) {
    let meeting = shared_array![T; THREADS * VECTOR];
    let (x, lane) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (width, lanes) = (
        thread::block_dim_x() as usize,
        thread::block_dim_y() as usize,
    );
    let batch = thread::block_idx_z() as usize;
    let (rows, splits) = (gemm.m as usize, gemm.splits as usize);
    let pitch = partials_pitch(gemm.n);
    let elements = rows * pitch;
    let place = (thread::block_idx_x() as usize * width + x) * VECTOR;
    let mut accumulators = [T::ZERO; VECTOR];
    if place < elements {
        let first = partials.wrapping_add(batch * splits * elements + place);
        let mut split = lane;
        while split < splits {
            let mut loaded = [[T::ZERO; VECTOR]; AHEAD];
            for i in 0..AHEAD {
                let split = split + i * lanes;
                if split < splits {
                    // SAFETY: inside of the partial products by the tests, and aligned because rows are whole vectors.
                    loaded[i] = unsafe { T::load_4(first.add(split * elements)) };
                }
            }
            for i in 0..AHEAD {
                for q in 0..VECTOR {
                    accumulators[q] += loaded[i][q];
                }
            }
            split += AHEAD * lanes;
        }
    }
    if lanes > 1 {
        // SAFETY: each thread has a vector of its own, and the barrier separates writing from reading.
        unsafe {
            T::store_4(meeting.add((lane * width + x) * VECTOR), accumulators);
            thread::sync_threads();
        }
        if lane > 0 {
            return;
        }
        for other in 1..lanes {
            // SAFETY: as before.
            let others = unsafe { T::load_4(meeting.add((other * width + x) * VECTOR)) };
            for q in 0..VECTOR {
                accumulators[q] += others[q];
            }
        }
    }
    if place < elements {
        let epilogue = LinearCombination::of_c(&gemm, batch as u32, c);
        let (row, column) = (place / pitch, place % pitch);
        // SAFETY: no other thread owns the elements, and the first is one of C's: `pitch` is less than a vector longer than its
        // rows.
        unsafe { epilogue.store_4(row, column, accumulators) };
    }
}

macro_rules! reduce_kernels {
    ($($name:ident: $sum:ty => $output:ty;)*) => {
        $(
            #[doc = concat!("Adds up partial products of `", stringify!($sum), "` into a C of `", stringify!($output), "`.")]
            ///
            /// # Safety
            /// `partials` holds the partial products of a launch with the same `gemm`, `c` is its C. A block has at most
            /// [`THREADS`] threads, in y at most [`MAX_LANES`]; the grid has as many in x as there are vectors, or more,
            /// and the number of matrices in z.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(partials: *const $sum, c: *mut $output, gemm: GemmParams<$sum>) {
                // SAFETY: passed on to the caller.
                unsafe { body(partials, c, gemm) }
            }
        )*
    };
}

reduce_kernels! {
    sgemm_reduce: f32 => f32;
    dgemm_reduce: f64 => f64;
    gemm_reduce_to_f16: f32 => f16;
    gemm_reduce_to_bf16: f32 => bf16;
}

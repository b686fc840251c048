//! `sgemm_reduce`, `dgemm_reduce`, `gemm_reduce_to_f16`, `gemm_reduce_to_bf16`: the split-K
//! reduction kernel, C ← α · (P₁ + P₂ + …) + β · C.
//!
//! # Idea
//! Where C has fewer tiles than the GPU has SMs, split-K gives each tile several blocks. A second
//! kernel adds up their partial sums, in the order of the splits. The result is then the same in
//! every run, which atomic additions would not give.
//!
//! # Thread mapping
//! The partial sums of a split lie one row behind the other, in rows of whole vectors of 4. A
//! thread has one vector; x counts vectors, z the batch. Where C is small, its vectors would keep
//! few SMs busy, and each thread would wait for one split after the other. So y counts groups of
//! threads of a block: group g adds up every split whose index is g modulo their number. Their sums
//! meet in shared memory.
//!
//! # Preconditions
//! None. The partial sums are those of a launch with the same [`GemmParams`] and split-K factor.
//!
//! # What changed since the rung before
//! It is the second half of a split-K GEMM.
//!
//! # Source
//! Beyond the sources; cuBLAS does the same.

use crate::gemm::element::{Output, Scalar};
use crate::gemm::epilogue::direct::DirectEpilogue;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::{GemmParams, partial_sums_pitch};
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::prelude::*;

/// Threads of a block, of all groups.
pub const THREADS: usize = 256;

/// The most groups of a block: the 16 vectors of f32 of each are then still two cache lines.
pub const MAX_GROUPS: usize = THREADS / 16;

/// Elements of a vector.
pub const VECTOR: usize = 4;

/// Vectors of partial sums that a thread has in flight.
pub const IN_FLIGHT: usize = 4;

/// The body of the kernels. With `OVERLAPS`, a launch may begin before that of the GEMM has ended.
///
/// # Safety
/// `partial_sums`, `c`, `params` and `splits` are those of the GEMM, and the launch is as the
/// kernels say.
#[inline(always)]
pub unsafe fn body<T: Scalar, C: Output<Wide = T>, Op: OutputOp<T>, const OVERLAPS: bool>(
    partial_sums: *const T,
    c: *mut C,
    params: GemmParams<T>,
    splits: u32,
) {
    let shared = shared_array![T; THREADS * VECTOR];
    let (x, group) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (width, groups) = (
        thread::block_dim_x() as usize,
        thread::block_dim_y() as usize,
    );
    let batch = thread::block_idx_z() as usize;
    let (rows, splits) = (params.m as usize, splits as usize);
    let pitch = partial_sums_pitch(params.n);
    let elements = rows * pitch;
    let element = (thread::block_idx_x() as usize * width + x) * VECTOR;
    let mut accumulators = [T::ZERO; VECTOR];
    if OVERLAPS {
        griddepcontrol::wait();
    }
    if element < elements {
        let first = partial_sums.wrapping_add(batch * splits * elements + element);
        let mut split = group;
        while split < splits {
            let mut loaded = [[T::ZERO; VECTOR]; IN_FLIGHT];
            for i in 0..IN_FLIGHT {
                let split = split + i * groups;
                if split < splits {
                    // SAFETY: element and split are inside of the partial sums by the tests; rows
                    // are of whole vectors, so the vector is aligned.
                    loaded[i] = unsafe { T::load_4(first.add(split * elements)) };
                }
            }
            for i in 0..IN_FLIGHT {
                for q in 0..VECTOR {
                    accumulators[q] += loaded[i][q];
                }
            }
            split += IN_FLIGHT * groups;
        }
    }
    if groups > 1 {
        // SAFETY: each thread has its own vector of `shared`; the barrier lies between the stores
        // and the loads of other threads.
        unsafe {
            T::store_4(shared.add((group * width + x) * VECTOR), accumulators);
            thread::sync_threads();
        }
        if group > 0 {
            return;
        }
        for other in 1..groups {
            // SAFETY: the vector was stored before the barrier.
            let others = unsafe { T::load_4(shared.add((other * width + x) * VECTOR)) };
            for q in 0..VECTOR {
                accumulators[q] += others[q];
            }
        }
    }
    if element < elements {
        let epilogue = DirectEpilogue::<C, Op>::of_c(&params, batch as u32, c);
        let (row, column) = (element / pitch, element % pitch);
        // SAFETY: each vector has one thread of group 0. C has its first element: `pitch` is less
        // than a vector longer than C's rows.
        unsafe { epilogue.store_4(row, column, accumulators, epilogue.vectors()) };
    }
}

macro_rules! reduce_kernels {
    ($overlaps:literal; $($name:ident: $accumulator:ty => $output:ty;)*) => {
        $(
            #[doc = concat!(
                "Adds up partial sums of `", stringify!($accumulator), "` into a C of `",
                stringify!($output), "`.",
            )]
            ///
            /// # Safety
            /// `partial_sums` are those of a launch with the same `params` and splits, and `c` is
            /// its C. A block has at most [`THREADS`] threads, in y at most [`MAX_GROUPS`]. The
            /// grid has a thread in x for each vector, and the batch in z.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(
                partial_sums: *const $accumulator,
                c: *mut $output,
                params: GemmParams<$accumulator>,
                splits: u32,
            ) {
                // SAFETY: the body has the contract of this kernel.
                unsafe {
                    body::<_, _, LinearCombination<$accumulator>, $overlaps>(
                        partial_sums, c, params, splits,
                    )
                }
            }
        )*
    };
}

/// The kernels for any generation.
#[cfg(sm_70_up)]
pub mod portable {
    use super::*;
    reduce_kernels! {
        false;
        sgemm_reduce: f32 => f32;
        dgemm_reduce: f64 => f64;
        gemm_reduce_to_f16: f32 => f16;
        gemm_reduce_to_bf16: f32 => bf16;
    }
}

/// Those whose launches overlap with that of the GEMM, for compute capability 9.0.
#[cfg(sm_90a)]
pub mod sm_90a {
    use super::*;
    reduce_kernels! {
        true;
        sgemm_90_reduce: f32 => f32;
        dgemm_90_reduce: f64 => f64;
        gemm_90_reduce_to_f16: f32 => f16;
        gemm_90_reduce_to_bf16: f32 => bf16;
    }
}

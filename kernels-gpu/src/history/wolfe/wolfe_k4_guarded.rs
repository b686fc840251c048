//! `wolfe_k4_guarded`: K4 for any size.
//!
//! # Idea
//! Tests stand at the loads of the strips, at the loop over k and at the stores; zeros fill what
//! lies outside. A thread below the last row computes nothing, but it still loads its part of the
//! strips and reaches every barrier.
//!
//! # Thread mapping
//! That of `wolfe_k4_w32_j2`: a block of 32 threads; thread → row i, columns j and j + 1.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `wolfe_k4_w32_j2`: the tests, and the number of strips rounded up.
//!
//! # Source
//! 004: the tests cost about 5 %. The source's inner loop ends at m where it has to end at the
//! inner extent; here it ends at k.

use crate::geometry::Geometry;
use crate::history::Pitched;
use cuda_std::hint::rolled;
use cuda_std::prelude::*;

/// Threads of a block, and elements of a strip.
const WIDTH: usize = 32;

/// Columns of C that a thread computes.
const TN: usize = 2;

/// 32 threads for 32 rows and 2 columns of C; 256 bytes of shared memory.
pub const GEOMETRY: Geometry = super::geometry(WIDTH, 1, TN);

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, size: Pitched) {
    let strips = shared_array![f32; TN * WIDTH];
    let tx = thread::thread_idx_x() as usize;
    let i = thread::block_idx_x() as usize * WIDTH + tx;
    let j = thread::block_idx_y() as usize * TN;

    let mut accumulators = [0.0f32; TN];
    for strip in 0..size.k.div_ceil(WIDTH) {
        let start = strip * WIDTH;
        // SAFETY: each access is inside of its matrix by the test before it. Each thread writes its
        // own element of each strip and reads those of others between the two barriers only.
        unsafe {
            for dj in 0..TN {
                *strips.add(dj * WIDTH + tx) = if start + tx < size.k && j + dj < size.n {
                    *b.get_unchecked(start + tx + size.ldb * (j + dj))
                } else {
                    0.0
                };
            }
            thread::sync_threads();
            if i < size.m {
                let end = WIDTH.min(size.k - start);
                let mut k = 0;
                while k < end {
                    let left = *a.get_unchecked(i + size.lda * (start + k));
                    for dj in 0..TN {
                        accumulators[dj] =
                            left.mul_add(*strips.add(dj * WIDTH + k), accumulators[dj]);
                    }
                    k = rolled(k + 1);
                }
            }
            thread::sync_threads();
        }
    }
    for dj in 0..TN {
        if i < size.m && j + dj < size.n {
            // SAFETY: inside of C, and no other thread writes this element.
            unsafe { *c.add(i + size.ldc * (j + dj)) = accumulators[dj] };
        }
    }
}
// ANCHOR_END: body

column_major_kernels! {
    /// K4 with 32 threads, 2 columns each, any size.
    wolfe_k4_guarded, (max_threads = WIDTH as u32, min_blocks = 1) => body;
}

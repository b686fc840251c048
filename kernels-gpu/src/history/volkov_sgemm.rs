//! `volkov_sgemm`: 64 threads, 16 accumulators each, and A in registers.
//!
//! # Idea
//! Registers are the fastest memory of a multiprocessor and the largest. 64 threads own a 64 × 16
//! block of C, a row each, in 16 registers; only B's 16 × 16 block goes through shared memory. One
//! element of A, loaded straight into a register, feeds 16 multiply-adds, whose other operands are
//! broadcasts from shared memory. Few threads, much independent work in each.
//!
//! # Thread mapping
//! All matrices are column-major. A block of 64 threads; thread t owns row t of a 64 × 16 block of
//! C. Lanes run along a column of A, so its loads are coalesced. For B's block, thread t loads four
//! elements of row t mod 16, in the columns t / 16, t / 16 + 4, t / 16 + 8 and t / 16 + 12.
//!
//! # Preconditions
//! m is a multiple of 64, n and k are multiples of 16.
//!
//! # What changed since the rung before
//! Against `outputs_8`: A skips shared memory, a thread owns a row of 16 outputs instead of a
//! column of 8, and a block has 2 warps.
//!
//! # Source
//! 000 ("Volkov and Demmel's SGEMM", SC08): about 60 % of peak in the paper.

use crate::geometry::{Along, Geometry};
use cuda_std::prelude::*;

/// The block tile: 64 × 16 elements of C, a row for each thread, and 16 along k.
pub const BM: usize = 64;
/// See [`BM`].
pub const BN: usize = 16;
/// See [`BM`].
pub const BK: usize = 16;

/// Distance of two columns of B's block in shared memory: 17, so that the stores of 16 neighbouring
/// columns fall into different banks.
const PITCH: usize = BK + 1;

// 64 threads load the 16 × 16 tile of B, four elements each.
const _: () = assert!(BM * 4 == BK * BN);

/// 64 threads and 16 × 17 × 4 = 1,088 bytes of shared memory for 64 rows and 16 columns of C.
pub const GEOMETRY: Geometry = Geometry::Tiles {
    block: [BM as u32, 1, 1],
    tile: [BN as u32, BM as u32],
    grid_x: Along::Rows,
};

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, size: super::Pitched) {
    let block_b = shared_array![f32; BN * PITCH];
    let t = thread::thread_idx_x() as usize;
    let (t_row, t_col) = (t % BK, t / BK);
    let row = thread::block_idx_x() as usize * BM + t;
    let first_col = thread::block_idx_y() as usize * BN;

    let mut accumulators = [0.0f32; BN];
    for block in 0..size.k / BK {
        let start = block * BK;
        // SAFETY: the blocks lie inside of the matrices because the sizes are multiples of them.
        // Each thread writes its own elements of the block and reads those of others between the
        // two barriers only.
        unsafe {
            for j in 0..4 {
                let col = t_col + j * 4;
                *block_b.add(col * PITCH + t_row) =
                    *b.get_unchecked(start + t_row + size.ldb * (first_col + col));
            }
            thread::sync_threads();
            for i in 0..BK {
                let left = *a.get_unchecked(row + size.lda * (start + i));
                for j in 0..BN {
                    accumulators[j] = left.mul_add(*block_b.add(j * PITCH + i), accumulators[j]);
                }
            }
            thread::sync_threads();
        }
    }
    for j in 0..BN {
        // SAFETY: inside of C because m and n are multiples of BM and BN, and no other thread
        // writes these elements.
        unsafe { *c.add(row + size.ldc * (first_col + j)) = accumulators[j] };
    }
}
// ANCHOR_END: body

column_major_kernels! {
    /// 64 threads own a 64 × 16 block of C.
    volkov_sgemm, (max_threads = 64, min_blocks = 1) => body;
}

//! `outputs_8x8`: 8 × 8 outputs per thread.
//!
//! # Idea
//! Blocking in two directions at once. A thread that owns an 8 × 8 thread tile loads 8 elements of
//! A's tile and 8 of B's for 64 multiply-adds: a quarter of a word per FMA, against 9/8 in
//! `outputs_8`, and 5/32 of an instruction, against 3/8. A block of 128 × 128 elements of C uses
//! every element it brings to shared memory 128 times, four times as often as with 32 × 32 tiles.
//!
//! # Thread mapping
//! 256 threads as 16 × 16; thread (x, y) owns rows y, y + 16, …, y + 112 and columns x, x + 16, …,
//! x + 112 of the block. So the 16 threads along x read neighbouring words of B's tile, and store
//! neighbouring elements of C. Each thread copies 4 elements of A and 4 of B, one at a time: 8
//! threads copy the 8 elements along k of a row of A, a warp copies a row of B's tile.
//!
//! # Preconditions
//! m and n are multiples of 128, k of 8.
//!
//! # What changed since the rung before
//! Against `outputs_8`: blocking in both directions. The block tile grows with the thread tile (128
//! × 128 instead of 32 × 32), and the k-tile is thin (8 instead of 32), so that both tiles still
//! take 8 KiB together. The compiler merges 4 neighbours of A's row into one 128-bit load, as in
//! `outputs_8`; a launch bound holds it to 128 registers, so that two blocks fit on a
//! multiprocessor.
//!
//! # Source
//! Beyond the sources; SGEMM_CUDA (S. Boehm, 2022), kernel 5, "2D blocktiling".

use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// The block tile: 128 × 128 elements of C, 8 along k.
const BM: usize = 128;
const BN: usize = 128;
const BK: usize = 8;

/// The thread tile: 8 × 8 elements of C.
const TM: usize = 8;
const TN: usize = 8;

/// Threads along a row and a column of the block tile; a thread's columns and rows are that far
/// apart.
const THREADS_X: usize = BN / TN;
const THREADS_Y: usize = BM / TM;
const THREADS: usize = THREADS_X * THREADS_Y;

/// Rows of A's tile and columns of B's that the block copies at a time.
const A_ROWS: usize = THREADS / BK;
const B_COLUMNS: usize = THREADS / BK;

const _: () = assert!(THREADS == 256);
// Every thread copies the same number of elements of each tile.
const _: () = assert!(THREADS.is_multiple_of(BK));
const _: () = assert!(BM.is_multiple_of(A_ROWS) && BN.is_multiple_of(B_COLUMNS));

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, _m: usize, n: usize, k: usize) {
    let tile_a = shared_array![f32; BM * BK];
    let tile_b = shared_array![f32; BK * BN];
    let t = thread::thread_idx_x() as usize;
    let (x, y) = (t % THREADS_X, t / THREADS_X);
    let top = thread::block_idx_y() as usize * BM;
    let left = thread::block_idx_x() as usize * BN;

    let mut accumulators = [[0.0; TN]; TM];
    // Counted in 32 bits: a 64-bit counter takes registers that the accumulators need.
    for start in (0..k as u32).step_by(BK) {
        let start = start as usize;
        // SAFETY: the tiles lie inside of the matrices because m, n and k are multiples of BM, BN
        // and BK. Threads read elements of others between the two barriers only.
        unsafe {
            for i in 0..BM / A_ROWS {
                let (row, col) = (t / BK + i * A_ROWS, t % BK);
                *tile_a.add(row * BK + col) = *a.get_unchecked((top + row) * k + start + col);
            }
            for i in 0..BN / B_COLUMNS {
                let (row, col) = (t / B_COLUMNS, t % B_COLUMNS + i * B_COLUMNS);
                *tile_b.add(row * BN + col) = *b.get_unchecked((start + row) * n + left + col);
            }
            thread::sync_threads();
            for i in 0..BK {
                let mut of_b = [0.0; TN];
                for s in 0..TN {
                    of_b[s] = *tile_b.add(i * BN + x + s * THREADS_X);
                }
                for r in 0..TM {
                    let of_a = *tile_a.add((y + r * THREADS_Y) * BK + i);
                    for s in 0..TN {
                        accumulators[r][s] = of_a.mul_add(of_b[s], accumulators[r][s]);
                    }
                }
            }
            thread::sync_threads();
        }
    }
    for r in 0..TM {
        let row = top + y + r * THREADS_Y;
        for s in 0..TN {
            // SAFETY: the block tile lies inside of C because m and n are multiples of BM and BN,
            // and no other thread writes this element.
            unsafe { *c.add(row * n + left + x + s * THREADS_X) = accumulators[r][s] };
        }
    }
}
// ANCHOR_END: body

/// 256 threads for 128 × 128 elements of C; 2 × 4,096 bytes of shared memory.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BN, BM]);

row_major_kernels! {
    /// 8 × 8 outputs per thread in 128 × 128 × 8 tiles.
    outputs_8x8, f32, (max_threads = 256, min_blocks = 2) => body;
}

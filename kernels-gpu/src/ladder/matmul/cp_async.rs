//! `cp_async`: asynchronous copies, three k-tiles in flight.
//!
//! # Idea
//! `double_buffered` carries the next tile through registers, and can carry only one. An
//! asynchronous copy goes from global to shared memory by itself: the thread starts it and goes on,
//! so several k-tiles can be in flight, and the latency of global memory is hidden three times
//! over. Four stages of shared memory are filled in turn.
//!
//! # Thread mapping
//! 256 threads for 128 × 128 elements of C, 8 × 8 accumulators a thread, in four quarters of 4 × 4
//! that are half a block tile apart. For a tile of A each thread copies 4 single elements, which
//! transposes it: K-major becomes M-major. For a tile of B it copies one vector of 4.
//!
//! # Preconditions
//! m and n are multiples of 128, k of 8.
//!
//! # What changed since the rung before
//! Against `double_buffered`: four stages instead of two, and no element passes through
//! a register to shared memory. There is still one barrier per tile: it says that all copies of a
//! tile are complete, and that all threads have read the stage that is filled next.
//!
//! # Source
//! Beyond the sources; PTX ISA, "cp.async".

use crate::geometry::Geometry;
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// The block tile: 128 × 128 elements of C, 8 along k.
const BM: usize = 128;
const BN: usize = 128;
const BK: usize = 8;

/// Stages in shared memory: one is used, the others are in flight.
const STAGES: usize = 4;

/// Distance of two k-rows of a tile: 132 words spread the transposed elements of A over the banks.
const PITCH: usize = BM + 4;

// The tiles of A and of B have the same shape in shared memory.
const _: () = assert!(BM == BN);

/// Words of a tile, and of a stage: one of A and one of B.
const TILE: usize = BK * PITCH;
const STAGE: usize = 2 * TILE;

const THREADS: usize = 256;

/// Rows of A that the block copies in one pass: 32.
const PASS_ROWS: usize = THREADS / BK;

// A pass copies whole rows of A, and one vector of 4 for each thread is the tile of B.
const _: () = assert!(BM.is_multiple_of(PASS_ROWS) && THREADS * 4 == BK * BN);

/// 256 threads for 128 × 128 elements of C; 33,792 bytes of shared memory.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BN, BM]);

// ANCHOR: start_copies
/// This thread's copies of one tile of A and one of B, from element `k` on.
///
/// # Safety
/// The tiles lie inside of the matrices, whose rows start at multiples of 16 bytes. No thread
/// accesses the stage until the copies are complete.
#[inline(always)]
unsafe fn start_copies(
    stage: SharedAddress,
    a: *const f32,
    b: *const f32,
    k: usize,
    k_total: usize,
    n: usize,
) {
    let t = thread::thread_idx_x() as usize;
    let word = |index: usize| stage.at((index * size_of::<f32>()) as u32);
    let (a_k, row) = (t % BK, t / BK);
    let (b_k, column) = (t / (BN / 4), t % (BN / 4) * 4);
    let top = thread::block_idx_y() as usize * BM;
    let left = thread::block_idx_x() as usize * BN;
    // SAFETY: the contract says that the tiles are inside of A and B, and the stage is free. Rows
    // of A are copied by 4 bytes, vectors of B start at multiples of 16.
    unsafe {
        for pass in 0..BM / PASS_ROWS {
            let row = row + pass * PASS_ROWS;
            async_copy::copy_4(
                word(a_k * PITCH + row),
                a.add((top + row) * k_total + k + a_k),
            );
        }
        async_copy::copy_16(
            word(TILE + b_k * PITCH + column),
            b.add((k + b_k) * n + left + column),
        );
    }
}
// ANCHOR_END: start_copies

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, n: usize, k: usize) {
    let memory = shared_array![f32; STAGES * STAGE];
    let t = thread::thread_idx_x() as usize;
    let (row, column) = (t / 16 * 4, t % 16 * 4);
    let stage = |tile: usize| {
        SharedAddress::of(memory).at((tile % STAGES * STAGE * size_of::<f32>()) as u32)
    };
    let tiles = k / BK;
    let mut accumulators = [[0.0f32; 8]; 8];
    // SAFETY: the tiles lie inside of the matrices because the sizes are multiples. A stage is read
    // after the copies of all threads, and filled after it was read, by the barrier between.
    unsafe {
        let start = |tile: usize| {
            if tile < tiles {
                start_copies(stage(tile), a.as_ptr(), b.as_ptr(), tile * BK, k, n);
            }
            // A group of its own even where it is empty, so that the number of groups tells the
            // tile.
            async_copy::commit_group();
        };
        for tile in 0..STAGES - 1 {
            start(tile);
        }
        for tile in 0..tiles {
            async_copy::wait_group::<{ STAGES as u32 - 2 }>();
            thread::sync_threads();
            start(tile + STAGES - 1);
            let from = memory.add(tile % STAGES * STAGE);
            for l in 0..BK {
                let left = halves(from.add(l * PITCH + row));
                let right = halves(from.add(TILE + l * PITCH + column));
                for i in 0..8 {
                    for j in 0..8 {
                        accumulators[i][j] = left[i].mul_add(right[j], accumulators[i][j]);
                    }
                }
            }
        }
        let top = thread::block_idx_y() as usize * BM + row;
        let left = thread::block_idx_x() as usize * BN + column;
        for i in 0..8 {
            let to = c.add((top + i / 4 * (BM / 2) + i % 4) * n + left);
            let [s0, s1, s2, s3, s4, s5, s6, s7] = accumulators[i];
            F32x4::store(to, [s0, s1, s2, s3]);
            F32x4::store(to.add(BN / 2), [s4, s5, s6, s7]);
        }
    }
}
// ANCHOR_END: body

/// 4 elements from `from` on, and 4 from half a tile further.
///
/// # Safety
/// Both are inside of a tile and 16-byte aligned.
#[inline(always)]
unsafe fn halves(from: *const f32) -> [f32; 8] {
    // SAFETY: the contract says that both vectors are inside of a tile and aligned.
    let ([a, b, c, d], [e, f, g, h]) =
        unsafe { (F32x4::load(from), F32x4::load(from.add(BM / 2))) };
    [a, b, c, d, e, f, g, h]
}

/// `double_buffered` with asynchronous copies.
///
/// # Safety
/// `a`, `b` and `c` are row-major device arrays of m × k, k × n and m × n elements, `c` apart from
/// the others, with the sizes that the module states; the grid and block are those of [`GEOMETRY`].
#[cuda_std::kernel(max_threads = 256, min_blocks = 2)]
pub unsafe fn cp_async(a: &[f32], b: &[f32], c: *mut f32, _m: u32, n: u32, k: u32) {
    // SAFETY: the body's contract is this kernel's.
    unsafe { body(a, b, c, n as usize, k as usize) }
}

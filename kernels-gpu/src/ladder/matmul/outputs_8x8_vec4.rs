//! `outputs_8x8_vec4`: `outputs_8x8` with 128-bit accesses.
//!
//! # Idea
//! A thread moves as many words as in `outputs_8x8`, with a quarter of the instructions or less.
//! One 128-bit load brings 4 neighbours of A or B from global memory, two bring 8 operands from
//! shared memory. So a thread's rows and columns must be neighbours. A's tile is stored transposed,
//! k first: then the 8 elements that a thread needs for one k lie next to each other.
//!
//! # Thread mapping
//! 256 threads as 16 × 16; thread (x, y) owns rows 8y … 8y + 7 and columns 8x … 8x + 7 of the
//! block. Each thread copies 4 neighbouring elements of A, along k, and 4 of B.
//!
//! # Preconditions
//! m and n are multiples of 128, k of 8; A and B are 16-byte aligned (every allocation is).
//!
//! # What changed since the rung before
//! Against `outputs_8x8`: 128-bit accesses to global and shared memory, and what they ask for: A's
//! tile transposed, rows and columns of a thread next to each other. Shared loads fall from 5/32 of
//! an instruction per FMA to 2/32. They have a price in bank conflicts: B's vectors begin 8 words
//! apart, so loads take 1.67 times the ideal wavefronts, and stores to A's tile lie 512 words
//! apart, 1.5 times. A store to C leaves half of each sector to the next one.
//!
//! # Source
//! Beyond the sources; SGEMM_CUDA (S. Boehm, 2022), kernel 6, "Vectorize SMEM and GMEM accesses".

use crate::geometry::Geometry;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// The block tile: 128 × 128 elements of C, 8 along k.
const BM: usize = 128;
const BN: usize = 128;
const BK: usize = 8;

/// The thread tile: 8 × 8 elements of C.
const TM: usize = 8;
const TN: usize = 8;

/// Elements of a vector.
const VECTOR: usize = 4;

/// Threads along a row of the block tile, and in all.
const THREADS_X: usize = BN / TN;
const THREADS: usize = THREADS_X * (BM / TM);

/// Vectors of a row of A's k-tile, and of B's.
const A_VECTORS: usize = BK / VECTOR;
const B_VECTORS: usize = BN / VECTOR;

const _: () = assert!(THREADS == 256);
// One vector of each tile per thread.
const _: () = assert!(THREADS == BM * A_VECTORS && THREADS == BK * B_VECTORS);
// `vectors` loads a thread's operands as two vectors, and rows of both tiles are aligned for it.
const _: () = assert!(TM == 2 * VECTOR && TN == 2 * VECTOR);
const _: () = assert!(BM.is_multiple_of(VECTOR) && BN.is_multiple_of(VECTOR));

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, _m: usize, n: usize, k: usize) {
    let tile_a = shared_array![f32; BK * BM];
    let tile_b = shared_array![f32; BK * BN];
    let t = thread::thread_idx_x() as usize;
    let (row, col) = (t / THREADS_X * TM, t % THREADS_X * TN);
    let (a_row, a_k) = (t / A_VECTORS, t % A_VECTORS * VECTOR);
    let (b_k, b_col) = (t / B_VECTORS, t % B_VECTORS * VECTOR);
    let top = thread::block_idx_y() as usize * BM;
    let left = thread::block_idx_x() as usize * BN;

    let mut accumulators = [[0.0; TN]; TM];
    for start in (0..k).step_by(BK) {
        // SAFETY: the tiles lie inside of the matrices because m, n and k are multiples of BM, BN
        // and BK; so are the rows' lengths, which makes every vector 16-byte aligned. Threads read
        // elements of others between the two barriers only.
        unsafe {
            let of_a = F32x4::load(a.as_ptr().add((top + a_row) * k + start + a_k));
            let of_b = F32x4::load(b.as_ptr().add((start + b_k) * n + left + b_col));
            for i in 0..VECTOR {
                *tile_a.add((a_k + i) * BM + a_row) = of_a[i];
            }
            F32x4::store(tile_b.add(b_k * BN + b_col), of_b);
            thread::sync_threads();
            for i in 0..BK {
                let of_a = vectors(tile_a.add(i * BM + row));
                let of_b = vectors(tile_b.add(i * BN + col));
                for r in 0..TM {
                    for s in 0..TN {
                        accumulators[r][s] = of_a[r].mul_add(of_b[s], accumulators[r][s]);
                    }
                }
            }
            thread::sync_threads();
        }
    }
    for r in 0..TM {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = accumulators[r];
        // SAFETY: the block tile lies inside of C because m and n are multiples of BM and BN, rows
        // start at multiples of 16 bytes, and no other thread writes these elements.
        unsafe {
            let first = c.add((top + row + r) * n + left + col);
            F32x4::store(first, [s0, s1, s2, s3]);
            F32x4::store(first.add(VECTOR), [s4, s5, s6, s7]);
        }
    }
}
// ANCHOR_END: body

/// 8 neighbouring elements.
///
/// # Safety
/// They are inside of a tile and 16-byte aligned.
#[inline(always)]
unsafe fn vectors(from: *const f32) -> [f32; 2 * VECTOR] {
    // SAFETY: the contract says that both vectors are inside of a tile and aligned.
    let ([a, b, c, d], [e, f, g, h]) =
        unsafe { (F32x4::load(from), F32x4::load(from.add(VECTOR))) };
    [a, b, c, d, e, f, g, h]
}

/// 256 threads for 128 × 128 elements of C; 2 × 4,096 bytes of shared memory.
pub const GEOMETRY: Geometry = Geometry::tiles([THREADS, 1], [BN, BM]);

row_major_kernels! {
    /// `outputs_8x8` with 128-bit accesses.
    outputs_8x8_vec4, f32, (max_threads = 256, min_blocks = 1) => body;
}

//! `register_blocked`: 8 × 8 outputs per thread, vector accesses, no bank conflicts.
//!
//! # Idea
//! The 128-bit accesses of `outputs_8x8_vec4`, placed so that no two of a warp want the same bank:
//! the thread tile is split in two halves for the loads, and A's tile is padded for the stores. The
//! operands of 64 multiply-adds are four instructions, a sixteenth of one per FMA, and take no more
//! wavefronts than single words do.
//!
//! # Thread mapping
//! 256 threads as 16 × 16; thread (x, y) owns rows 4y … 4y + 3 and 64 + 4y …, columns 4x … 4x + 3
//! and 64 + 4x … of the block. Split in two halves so, the 16 threads along x read 64 neighbouring
//! words with 128-bit loads: no bank conflicts. Each thread loads 4 neighbouring elements of A and
//! of B from global memory with one 128-bit load each. A's tile is stored transposed, k first, so
//! that its rows can be read as vectors. A warp stores two k-rows of it at a time, 4 apart; padding
//! by 4 words puts them into different halves of the banks.
//!
//! # Preconditions
//! m and n are multiples of 128, k of 8; A and B are 16-byte aligned (every allocation is).
//!
//! # What changed since the rung before
//! Against `outputs_8x8_vec4`: where the data lie. The halves of a thread tile are 64 rows and
//! columns apart, and k-rows of A's tile 132 words instead of 128. Wavefronts of shared memory fall
//! from 1.67 times (loads) and 1.5 times (stores) the ideal to the ideal, and each store to C fills
//! its sectors.
//!
//! # Source
//! 000 ("Improving performance using fewer threads": registers instead of occupancy), carried to
//! 2-D; SGEMM_CUDA (S. Boehm, 2022), kernels 7 and 8, resolves bank conflicts in other ways.

use super::blocked::{Accumulators, BK, Fragment, Position, TILE_A, TILE_B};
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, _m: usize, n: usize, k: usize) {
    let tile_a = shared_array![f32; TILE_A];
    let tile_b = shared_array![f32; TILE_B];
    let at = Position::of_this_thread();
    let mut accumulators = Accumulators::zero();
    for start in (0..k).step_by(BK) {
        // SAFETY: the tiles lie inside of the matrices because m, n and k are multiples of BM, BN
        // and BK. Threads read elements of others between the two barriers only.
        unsafe {
            let fragment = Fragment::load(a, b, &at, start, n, k);
            fragment.store(tile_a, tile_b, &at);
            thread::sync_threads();
            accumulators.multiply_add(tile_a, tile_b, &at);
            thread::sync_threads();
        }
    }
    // SAFETY: the block tile lies inside of C because m and n are multiples of BM and BN, and rows
    // start at multiples of 16 bytes because n is a multiple of 4.
    unsafe { accumulators.store(c, &at, n) };
}
// ANCHOR_END: body

/// 256 threads for 128 × 128 elements of C; 4,224 + 4,096 bytes of shared memory.
pub const GEOMETRY: crate::geometry::Geometry = super::blocked::GEOMETRY;

row_major_kernels! {
    /// `outputs_8x8_vec4` without bank conflicts.
    register_blocked, f32, (max_threads = 256, min_blocks = 1) => body;
}

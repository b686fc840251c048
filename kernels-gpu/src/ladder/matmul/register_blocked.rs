//! `register_blocked`: 8 × 8 outputs per thread.
//!
//! # Idea
//! Blocking in two directions at once. A thread that owns an 8 × 8 thread tile loads 8 elements of
//! A's tile and 8 of B's for 64 multiply-adds: a quarter of a load per FMA, against 9/8 in
//! `outputs_8`, and with 128-bit loads a sixteenth of an instruction. A block of 128 × 128 elements
//! of C uses every element it brings to shared memory 128 times.
//!
//! # Thread mapping
//! 256 threads as 16 × 16; thread (x, y) owns rows 4y … 4y + 3 and 64 + 4y …, columns 4x … 4x + 3
//! and 64 + 4x … of the block. Split in two halves so, the 16 threads along x read 64 neighbouring
//! words with 128-bit loads: no bank conflicts. Each thread loads 4 neighbouring elements of A and
//! of B from global memory with one 128-bit load each. A's tile is stored transposed, k first, so
//! that its rows can be read as vectors; padding by 4 words keeps these scattered stores at two to
//! a bank instead of eight.
//!
//! # Preconditions
//! m and n are multiples of 128, k of 8; A and B are 16-byte aligned (every allocation is).
//!
//! # What changed since the rung before
//! Against `outputs_8`: blocking in both directions, vector accesses, a shallower and wider tile (8
//! instead of 32 along k).
//!
//! # Source
//! 000 ("Improving performance using fewer threads": registers instead of occupancy), carried to
//! 2-D.

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
    /// 8 × 8 outputs per thread in 128 × 128 × 8 tiles.
    register_blocked, f32, (max_threads = 256, min_blocks = 1) => body;
}

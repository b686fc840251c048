//! `double_buffered`: two stages of shared memory, the next tile prefetched into registers.
//!
//! # Idea
//! `register_blocked` waits twice for each k-tile: until it is complete, and until all threads have
//! read it. With two stages of shared memory the next k-tile is prefetched while this one is used.
//! Its global loads are issued before the arithmetic, and stored to the other stage after it. One
//! barrier for each k-tile is enough, and 512 multiply-adds hide the latency of global memory.
//!
//! # Thread mapping
//! As in `register_blocked`.
//!
//! # Preconditions
//! As for `register_blocked`: m and n are multiples of 128, k of 8.
//!
//! # What changed since the rung before
//! Against `register_blocked`: twice the shared memory, 8 registers for the prefetched elements,
//! one barrier for each k-tile instead of two, the last k-tile behind the loop. A launch bound
//! holds it to 128 registers, so that two blocks fit on a multiprocessor.
//!
//! # Source
//! Beyond the sources; the usual next step.

use super::blocked::{Accumulators, BK, Fragment, Position, TILE_A, TILE_B};
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, _m: usize, n: usize, k: usize) {
    let tiles_a = shared_array![f32; 2 * TILE_A];
    let tiles_b = shared_array![f32; 2 * TILE_B];
    let at = Position::of_this_thread();
    let mut accumulators = Accumulators::zero();
    // Counted in 32 bits: a 64-bit counter takes registers that the accumulators need.
    let k_tiles = (k / BK) as u32;
    // SAFETY: the tiles lie inside of the matrices because m, n and k are multiples of BM, BN and
    // BK. One stage is written while the other is read, and a barrier lies between.
    unsafe {
        if k_tiles > 0 {
            Fragment::load(a, b, &at, 0, n, k).store(tiles_a, tiles_b, &at);
            thread::sync_threads();
            for k_tile in 1..k_tiles {
                let (this, next) = (((k_tile - 1) % 2) as usize, (k_tile % 2) as usize);
                let prefetched = Fragment::load(a, b, &at, k_tile as usize * BK, n, k);
                accumulators.multiply_add(
                    tiles_a.add(this * TILE_A),
                    tiles_b.add(this * TILE_B),
                    &at,
                );
                prefetched.store(tiles_a.add(next * TILE_A), tiles_b.add(next * TILE_B), &at);
                thread::sync_threads();
            }
            // Behind the last tile there is none to prefetch.
            let last = ((k_tiles - 1) % 2) as usize;
            accumulators.multiply_add(tiles_a.add(last * TILE_A), tiles_b.add(last * TILE_B), &at);
        }
        accumulators.store(c, &at, n);
    }
}
// ANCHOR_END: body

/// 256 threads for 128 × 128 elements of C; 2 × (4,224 + 4,096) bytes of shared memory.
pub const GEOMETRY: crate::geometry::Geometry = super::blocked::GEOMETRY;

row_major_kernels! {
    /// `register_blocked` with two stages.
    double_buffered, f32, (max_threads = 256, min_blocks = 2) => body;
}

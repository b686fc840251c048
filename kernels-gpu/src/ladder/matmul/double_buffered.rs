//! `double_buffered`: two stages of shared memory, the next tile prefetched into registers.
//!
//! # Idea
//! `register_blocked` waits twice in each round: for the tile to arrive, and for everybody to be done with it.
//! With two copies of the tiles the next one is on its way while this one is used: its global loads are issued
//! before the arithmetic and stored to the other copy after it. One barrier per round is enough, and the latency
//! of global memory hides behind 512 multiply-adds.
//!
//! # Thread mapping
//! As in `register_blocked`.
//!
//! # Preconditions
//! As for `register_blocked`: m and n are multiples of 128, k of 8.
//!
//! # What changed since the rung before
//! Against `register_blocked`: twice the shared memory, 8 registers for the prefetched elements, one barrier
//! per round instead of two, the last round behind the loop. A launch bound holds it to 128 registers, so that two
//! blocks fit on a multiprocessor.
//!
//! # Source
//! Beyond the sources; the usual next step.

use super::blocked::{Accumulators, DEPTH, Fragment, Position, TILE_A, TILE_B};
use cuda_std::prelude::*;

// ANCHOR: body
#[inline(always)]
unsafe fn body(a: &[f32], b: &[f32], c: *mut f32, _m: usize, n: usize, k: usize) {
    let tiles_a = shared_array![f32; 2 * TILE_A];
    let tiles_b = shared_array![f32; 2 * TILE_B];
    let at = Position::of_this_thread();
    let mut sums = Accumulators::zero();
    // Counted in 32 bits: a 64-bit counter takes registers that the sums need.
    let steps = (k / DEPTH) as u32;
    // SAFETY: the tiles lie inside of the matrices because m and n are multiples of BLOCK and k of DEPTH. A copy
    // of the tiles is written while the other is read, and a barrier lies between.
    unsafe {
        if steps > 0 {
            Fragment::load(a, b, &at, 0, n, k).store(tiles_a, tiles_b, &at);
            thread::sync_threads();
            for step in 1..steps {
                let (this, next) = (((step - 1) % 2) as usize, (step % 2) as usize);
                let prefetched = Fragment::load(a, b, &at, step as usize * DEPTH, n, k);
                sums.multiply_add(tiles_a.add(this * TILE_A), tiles_b.add(this * TILE_B), &at);
                prefetched.store(tiles_a.add(next * TILE_A), tiles_b.add(next * TILE_B), &at);
                thread::sync_threads();
            }
            // Behind the last tile there is none to prefetch.
            let last = ((steps - 1) % 2) as usize;
            sums.multiply_add(tiles_a.add(last * TILE_A), tiles_b.add(last * TILE_B), &at);
        }
        sums.store(c, &at, n);
    }
}
// ANCHOR_END: body

/// 256 threads for 128 × 128 elements of C; 2 × (4,224 + 4,096) bytes of shared memory.
pub const GEOMETRY: crate::geometry::Geometry = super::blocked::GEOMETRY;

row_major_kernels! {
    /// `register_blocked` with two stages.
    double_buffered, f32, (max_threads = 256, min_blocks = 2) => body;
}

//! `fma_ilp_1`, `fma_ilp_2`, `fma_ilp_3`, `fma_ilp_4`: chains of dependent multiply-adds.
//!
//! # Idea
//! A multiply-add whose operand is the result of the one before has to wait for it: one chain
//! issues an instruction per latency. R independent chains in a thread issue R. To fill a pipeline
//! takes latency × throughput operations in flight, whether they come from many threads with one
//! chain or from few threads with several: full speed at a quarter of the occupancy.
//!
//! # Thread mapping
//! One thread, R chains; each chain starts from `input[thread_idx_x]` plus the chain's number.
//!
//! # Preconditions
//! None; any grid of blocks of 256 threads.
//!
//! # What changed since the rung before
//! From rung to rung one more chain; all do the same number of multiply-adds.
//!
//! # Source
//! 000 ("Thread vs instruction level parallelism"): on a GT200, 100 % of peak with 25 % occupancy.

use super::BLOCK;
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Multiply-adds of a thread in each round: divisible by 1, 2, 3 and 4.
pub const FMAS_PER_ROUND: usize = 48;

/// x ← x · FACTOR + TERM: close enough to 1 that after thousands of rounds the result still depends
/// on the start.
pub const FACTOR: f32 = 1.0 - 1.0 / 8192.0;
/// See [`FACTOR`].
pub const TERM: f32 = 1.0 / 8192.0;

/// One output per thread.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

// ANCHOR: body
#[inline(always)]
unsafe fn body<const R: usize>(
    input: &[f32],
    output: *mut f32,
    rounds: u32,
    factor: f32,
    term: f32,
) {
    const { assert!(FMAS_PER_ROUND.is_multiple_of(R)) };
    // SAFETY: the input has an element for each thread of a block.
    let start = unsafe { *input.get_unchecked(thread::thread_idx_x() as usize) };
    let mut chains = [0.0f32; R];
    for r in 0..R {
        chains[r] = start + r as f32;
    }
    for _ in 0..rounds {
        for _ in 0..FMAS_PER_ROUND / R {
            for r in 0..R {
                chains[r] = chains[r].mul_add(factor, term);
            }
        }
    }
    let mut sum = 0.0;
    for r in 0..R {
        sum += chains[r];
    }
    // SAFETY: the output has an element for each thread of the grid.
    unsafe { *output.add(thread::index_1d() as usize) = sum };
}
// ANCHOR_END: body

fma_kernels! {
    /// 1 chain per thread.
    fma_ilp_1 => body::<1>;
    /// 2 chains per thread.
    fma_ilp_2 => body::<2>;
    /// 3 chains per thread.
    fma_ilp_3 => body::<3>;
    /// 4 chains per thread.
    fma_ilp_4 => body::<4>;
}

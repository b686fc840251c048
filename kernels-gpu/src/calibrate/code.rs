//! `calibrate_code`: a loop with a long body.
//!
//! # Idea
//! A loop whose body the instruction caches hold runs at the units' rate; a longer one runs at the
//! rate at which instructions arrive. The kernel does the first parts of a long body, as many as it
//! is told.
//!
//! # Thread mapping
//! Each thread does the same.
//!
//! # Preconditions
//! Blocks of whole warps.

use super::{BLOCK, clock, report};
use cuda_std::prelude::*;

/// Multiply-adds of a part of the body: 4 KiB of machine code.
pub const PART: usize = 256;

/// Parts of the longest body.
pub const PARTS: usize = 12;

/// Chains of a thread.
const CHAINS: usize = 8;

/// The parts of a body, one after the other in the code, of which the first ones are done: a loop
/// would not be unrolled.
macro_rules! parts {
    ($($part:literal)*, of $parts:ident, $body:block) => {
        const { assert!([$($part),*].len() == PARTS) };
        $(
            if $parts > $part {
                $body
            }
        )*
    };
}

/// Multiply-adds in a loop whose body has `parts` parts.
///
/// # Safety
/// Blocks of whole warps; `clocks` has two elements for each warp of the grid.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn calibrate_code(clocks: *mut u64, rounds: u32, parts: u32, factor: f32) {
    let mut chains = [0.0f32; CHAINS];
    for c in 0..CHAINS {
        chains[c] = c as f32;
    }
    let start = clock();
    for _ in 0..rounds {
        parts! { 0 1 2 3 4 5 6 7 8 9 10 11, of parts, {
            for _ in 0..PART / CHAINS {
                for c in 0..CHAINS {
                    chains[c] = chains[c].mul_add(factor, factor);
                }
            }
        }}
    }
    let stop = clock();
    let mut sum = 0.0;
    for c in 0..CHAINS {
        sum += chains[c];
    }
    // SAFETY: `clocks` is as the kernel's contract says; no sum has these bits.
    unsafe {
        report(clocks, start, stop);
        if sum.to_bits() == u32::MAX {
            *clocks = 0;
        }
    }
}

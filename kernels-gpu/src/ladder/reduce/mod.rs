//! The sum of all elements of an array.
//!
//! | file | rungs |
//! |---|---|
//! | [`reduce_atomic`](mod@reduce_atomic) | `reduce_atomic` |
//! | [`reduce_shared`](mod@reduce_shared) | `reduce_shared` |
//! | [`reduce_shuffle`](mod@reduce_shuffle) | `reduce_shuffle` |
//! | [`reduce_vec4`](mod@reduce_vec4) | `reduce_vec4` |
//! | [`reduce_two_pass`] | `reduce_two_pass` |
//! | [`reduce_one_pass`](mod@reduce_one_pass) | `reduce_one_pass` |
//!
//! The output is one element. The first four rungs add to it atomically, so it is cleared by a
//! launch before, [`reduce_clear`](mod@reduce_clear), and the order of their additions, and with it
//! the rounding, may differ from launch to launch. The last two add in an order that the number of
//! elements alone decides.

use super::block::{VECTOR, WARP, block_reduce, load_or};
use cuda_std::prelude::*;
use cuda_std::vector::F32x4;

/// Threads of a block in this family.
pub const BLOCK: usize = 256;

/// Warps of a block.
const WARPS: usize = BLOCK / WARP;

/// 128-bit loads of a thread in the rungs that load vectors.
const VECTORS: usize = 4;

/// Elements of a block in these rungs: 4,096.
pub const VECTORS_BLOCK: usize = BLOCK * VECTORS * VECTOR;

/// Index of the thread's element where each thread has one.
#[inline(always)]
fn element() -> usize {
    thread::block_idx_x() as usize * BLOCK + thread::thread_idx_x() as usize
}

/// The sum of a value of each thread of the block; every thread gets it.
///
/// # Safety
/// As for [`block_reduce`].
#[inline(always)]
unsafe fn block_sum(value: f32) -> f32 {
    // SAFETY: the contract is that of `block_reduce`.
    unsafe { block_reduce::<f32, WARPS>(value, 0.0, |a, b| a + b) }
}

// ANCHOR: thread_sum
/// The sum of this thread's 16 elements of the block's 4,096. All loads stand before the first
/// addition.
///
/// # Safety
/// `input` is aligned to 16 bytes.
#[inline(always)]
unsafe fn thread_sum(input: &[f32]) -> f32 {
    let first = thread::block_idx_x() as usize * VECTORS_BLOCK;
    let t = thread::thread_idx_x() as usize;
    let mut loaded = [[0.0; VECTOR]; VECTORS];
    for i in 0..VECTORS {
        // SAFETY: a multiple of four; the contract.
        loaded[i] = unsafe { load_or::<F32x4, f32>(input, first + (t + i * BLOCK) * VECTOR, 0.0) };
    }
    let mut sum = 0.0;
    for i in 0..VECTORS {
        let [a, b, c, d] = loaded[i];
        sum += (a + b) + (c + d);
    }
    sum
}
// ANCHOR_END: thread_sum

pub mod reduce_atomic;
pub mod reduce_clear;
pub mod reduce_one_pass;
pub mod reduce_shared;
pub mod reduce_shuffle;
pub mod reduce_two_pass;
pub mod reduce_vec4;

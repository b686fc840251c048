//! # A warp goes one way at a time
//!
//! This kernel is right, and slow. Elements with an even index are to be treated in one way, those
//! with an odd index in another. Each warp has threads of both kinds. Its 32 lanes execute the same
//! instruction at a time, so it goes through both branches, and half of its lanes rest in each.
//!
//! ```text
//! as it is                               as it should be
//! warp 0:  e o e o e o ...               warp 0:  e e e e ...     elements 0, 2, 4, ..., 62
//! warp 1:  e o e o e o ...               warp 1:  o o o o ...     elements 1, 3, 5, ..., 63
//! ```
//!
//! That has a price: a warp's elements are then 8 bytes apart, so its loads and stores touch
//! twice the sectors. Here 20 steps of arithmetic for each element are worth it. With two steps
//! they are not.
//!
//! # What to do
//!
//! A block has 64 threads for 64 elements. Choose the element `i` of each thread so that each warp
//! has only even ones or only odd ones. The two branches stay as they are.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn divergence(input: *const f32, output: *mut f32) {
    let first = thread::block_idx_x() as usize * 64;
    let t = thread::thread_idx_x() as usize;
    let i = first + t;
    let mut x = *input.add(i);
    if i % 2 == 0 {
        for _ in 0..20 {
            x = x.mul_add(0.5, 1.0);
        }
    } else {
        for _ in 0..20 {
            x = 1.0 / (1.0 + x);
        }
    }
    *output.add(i) = x;
}

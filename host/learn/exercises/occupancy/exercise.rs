//! # Shared memory that keeps blocks away
//!
//! This kernel is right. It copies 32 elements for each thread to shared memory and adds them up
//! there: 64 threads with 32 elements of 4 bytes are 8 KB, for a block of two warps. A
//! multiprocessor (SM) with 100 KB of shared memory holds 12 such blocks, 24 warps of the 48 or 64
//! that it could hold. While these wait for memory, nothing is left to run.
//!
//! ```text
//! 8 KB a block     [ block | block | ... 12 blocks ]      24 warps wait
//! 256 B a block    [ block | block | ... 24 or 32 ]       48 or 64 warps wait, and others run
//! ```
//!
//! # What to do
//!
//! Each element is used once, by the thread that loaded it: that needs no shared memory. Add up in
//! a register, and use shared memory only for what threads exchange: the 64 results, which the
//! block gives out in reversed order.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn occupancy(input: *const f32, output: *mut f32) {
        let tile = shared_array![f32; 64 * 32];
    let t = thread::thread_idx_x() as usize;
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let i = thread::index_1d() as usize;
        for round in 0..32 {
            *tile.add(round * 64 + t) = *input.add(round * threads + i);
        }
        for round in 1..32 {
            *tile.add(t) += *tile.add(round * 64 + t);
        }
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - t);
}

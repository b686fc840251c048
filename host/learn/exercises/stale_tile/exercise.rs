//! # Detective: leftovers of another kernel
//!
//! Each block finds the largest of its 64 elements. All elements are 0 or more. For full blocks the
//! kernel is right. In the last block, which is not full, it now and then finds a number that is
//! not even in the input.
//!
//! # What to do
//!
//! Run the check. It names a read of shared memory that was never written. Which threads should
//! have written there, and why did they not? Shared memory is not empty at the start of a block: it
//! holds what the last kernel left.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn stale_tile(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    if i < n {
        *tile.add(t) = *input.add(i);
    }
    thread::sync_threads();
    let mut half = 32;
    while half > 0 {
        if t < half {
            let other = *tile.add(t + half);
            if other > *tile.add(t) {
                *tile.add(t) = other;
            }
        }
        thread::sync_threads();
        half /= 2;
    }
    if t == 0 {
        *output.add(thread::block_idx_x() as usize) = *tile;
    }
}

//! # Detective: the lonely barrier
//!
//! Each pair of neighbours is to be swapped, through shared memory; the output is longer than the
//! input, and gets zeros there. Threads behind the end of the input have nothing to swap, so
//! all of that stands in an `if`. The kernel may well work, and on some GPUs it never ends.
//!
//! # What to do
//!
//! Run the check. A barrier waits for all threads of the block: which do not reach it? Move the
//! barrier, and let each access keep its guard. `n` is even, so pairs are whole.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn lonely_barrier(input: *const f32, output: *mut f32, n: usize) {
    let tile = shared_array![f32; 96];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mut value = 0.0;
    if i < n {
        *tile.add(t) = *input.add(i);
        thread::sync_threads();
        value = *tile.add(t ^ 1);
    }
    *output.add(i) = value;
}

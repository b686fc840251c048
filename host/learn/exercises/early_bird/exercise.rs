//! # Detective: the early bird
//!
//! Running sums of a block of 128 elements, in shared memory: with distance 1, 2, 4, ..., 64, each
//! element adds the element `distance` below it. There is a barrier in each round. The sums are
//! wrong all the same, and not always.
//!
//! ```text
//! thread t         reads t - d     writes t
//! thread t + d                           reads t, writes t + d
//! ```
//!
//! # What to do
//!
//! Run the check. It names the two accesses that race: which of them has to come first? Put what is
//! missing between them.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn early_bird(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *tile.add(t) = *input.add(i);
    thread::sync_threads();
    let mut distance = 1;
    while distance < 128 {
        let below = if t >= distance {
            *tile.add(t - distance)
        } else {
            0.0
        };
        *tile.add(t) += below;
        thread::sync_threads();
        distance *= 2;
    }
    *output.add(i) = *tile.add(t);
}

//! # Several elements per thread
//!
//! A thread with more to do has more bytes in flight at once, which is what hides the latency
//! of memory. This kernel gives each thread 4 elements, and gives it the wrong ones: for a thread
//! alone, 4 neighbours look best, but the 32 threads of a warp load together, and in each round
//! their elements are 4 apart.
//!
//! ```text
//!            as it is: round 0            as it should be: round 0
//! thread   0       1       2             0 1 2 3 4 5 6 7 ...
//!          |       |       |             | | | | | | | |
//!        [ x . . . x . . . x . . .     [ x x x x x x x x ...
//! ```
//!
//! # What to do
//!
//! Give each thread 4 other elements, so that in each of the 4 rounds neighbouring threads access
//! neighbouring elements. A block still does 4 times as many consecutive elements as it has
//! threads.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn chunks(input: *const f32, output: *mut f32) {
    let threads = thread::block_dim_x() as usize;
    let t = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * 4 * threads;
    for round in 0..4 {
        let i = first + 4 * t + round;
        *output.add(i) = 3.0 * *input.add(i);
    }
}

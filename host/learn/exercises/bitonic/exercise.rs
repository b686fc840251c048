//! # A sort in shared memory
//!
//! A sorting network compares pairs in a fixed pattern, so all threads do the same in each step,
//! and only the data decides which way a pair is swapped. The bitonic network sorts 64 elements in
//! 21 steps; in each, element `t` meets element `t ^ distance`.
//!
//! ```text
//! size 2:   distance 1                       pairs sorted up, down, up, down, ...
//! size 4:   distance 2, 1                    runs of 4 sorted up, down, ...
//! size 64:  distance 32, 16, 8, 4, 2, 1      all sorted
//! ```
//!
//! A pair is sorted upwards where `t & size == 0`. In the last step that is everywhere.
//!
//! # What to do
//!
//! Write the step: the thread of the smaller index looks at both elements and swaps them where they
//! are in the wrong order. All threads of the block have to be done with a step before the next
//! one.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn bitonic(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *tile.add(t) = *input.add(i);
    thread::sync_threads();
    let mut size = 2;
    while size <= 64 {
        let mut distance = size / 2;
        while distance > 0 {
            let partner = t ^ distance;
            let upwards = t & size == 0;
            // ---- your code: about 8 lines ----
            distance /= 2;
        }
        size *= 2;
    }
    *output.add(i) = *tile.add(t);
}

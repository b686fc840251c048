//! # A copy that is not waited for, yet
//!
//! A load brings an element to a register, and a store puts it into shared memory. `cp.async` does
//! both without a register, and the thread goes on at once: other work fits in until the tile is
//! there.
//!
//! ```text
//! async_copy::copy_4(to, from)     starts to copy 4 bytes to shared memory
//! async_copy::commit_group()       the copies started so far are one group
//! async_copy::wait_group::<0>()    waits until no group of this thread is in flight
//! ```
//!
//! `SharedAddress::of(pointer)` is the address that `copy_4` takes.
//!
//! # What to do
//!
//! Copy this thread's element to element `t` of the tile in that way. Wait for the copy. Other
//! threads see it after a barrier only, as with any store.

use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn async_tile(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    // ---- your code: about 4 lines ----
    *output.add(i) = *tile.add(127 - t);
}

//! # Detective: a tile that is not there yet
//!
//! Each block copies 128 elements to shared memory asynchronously and writes them out turned
//! around. On a small input on an idle GPU it works nearly always. Under load some elements are
//! those of another kernel.
//!
//! # What to do
//!
//! Run the check. It names a read of shared memory, and the copy that it does not wait for. A group
//! of copies is in flight until `wait_group` gives the most that may be. How many does this
//! kernel allow, and how many has it committed?

use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn stale_copy(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    async_copy::copy_4(SharedAddress::of(tile.add(t)), input.add(i));
    async_copy::commit_group();
        async_copy::wait_group::<1>();
    thread::sync_threads();
    *output.add(i) = *tile.add(127 - t);
}

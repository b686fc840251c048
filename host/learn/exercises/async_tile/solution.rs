use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn async_tile(input: *const f32, output: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    async_copy::copy_4(SharedAddress::of(tile.add(t)), input.add(i));
    async_copy::commit_group();
    async_copy::wait_group::<0>();
    thread::sync_threads();
    *output.add(i) = *tile.add(127 - t);
}

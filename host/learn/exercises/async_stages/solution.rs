use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

/// Tiles of a block.
const TILES: usize = 8;

#[kernel]
pub unsafe fn async_stages(input: *const f32, output: *mut f32) {
    let tiles = shared_array![f32; 2 * 64];
    let t = thread::thread_idx_x() as usize;
    let input = input.add(thread::block_idx_x() as usize * TILES * 64);
    // Tile number `tile` takes place 0 or 1.
    let start = |tile: usize| {
        if tile < TILES {
            let to = SharedAddress::of(tiles.add(tile % 2 * 64 + t));
            async_copy::copy_4(to, input.add(tile * 64 + t));
        }
        async_copy::commit_group();
    };
    let mut sum = 0.0;
    start(0);
    for tile in 0..TILES {
        start(tile + 1);
        async_copy::wait_group::<1>();
        thread::sync_threads();
        sum += *tiles.add(tile % 2 * 64 + 63 - t);
        thread::sync_threads();
    }
    *output.add(thread::index_1d() as usize) = sum;
}

//! # The next tile in flight
//!
//! Two tiles take turns: while the block works on one, the copies of the next one are in flight. A
//! group of copies is committed in each round, and `wait_group::<1>()` waits until at most one
//! group, the newest, is in flight: the tile of this round is there then.
//!
//! ```text
//! round 0   copy of tile 1 starts    wait for tile 0   work on tile 0
//! round 1   copy of tile 2 starts    wait for tile 1   work on tile 1
//!           into the place of tile 0
//! ```
//!
//! At the last tile there is nothing to copy. An empty group keeps the count right.
//!
//! # What to do
//!
//! The block adds 8 tiles of 64 elements, element by element, each tile reversed: `sum`
//! adds `tile[63 - t]`. Write the round. Two barriers are needed: the tile is complete for all
//! threads, and all threads are done with it before it is filled again.

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
        // ---- your code: about 5 lines ----
    }
    *output.add(thread::index_1d() as usize) = sum;
}

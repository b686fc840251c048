//! # A warp that loads, a warp that adds
//!
//! Warps need not all do the same. Here warp 0 loads tiles into shared memory, and warp 1 adds them
//! up. Neither passes a block barrier in the loop: for each of two stages there are two barriers
//! that count arrivals, an mbarrier for "full" and one for "empty".
//!
//! ```text
//! producer   waits until the stage is empty, fills it, arrives at full
//! consumer   waits until the stage is full, reads it, arrives at empty
//! ```
//!
//! A phase of a barrier is complete after 32 arrivals, one of each lane, and the next phase begins.
//! `wait(parity)` waits for the phase of that parity: 0 for the first, then 1, then 0. Stage s is
//! used by tiles s, s + 2, s + 4, and so on, so tile number `tile` is in phase `tile / 2` of its
//! stage.
//!
//! # What to do
//!
//! Write the consumer: for each tile, wait until its stage is full, add element `31 - lane` of it
//! to `sum`, and arrive at the stage's `empty`.

use cuda_std::async_copy::SharedAddress;
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;

/// Tiles of 32 elements that a block adds.
const TILES: usize = 8;

#[kernel]
pub unsafe fn producer(input: *const f32, output: *mut f32) {
    let tiles = shared_array![f32; 2 * 32];
    let barriers = shared_array![u64; 4];
    let full = |stage: usize| Barrier::new(SharedAddress::of(barriers.add(stage)));
    let empty = |stage: usize| Barrier::new(SharedAddress::of(barriers.add(2 + stage)));
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let block = thread::block_idx_x() as usize;
    if t == 0 {
        for stage in 0..2 {
            full(stage).init(32);
            empty(stage).init(32);
        }
    }
    thread::sync_threads();
    if warp == 0 {
        for tile in 0..TILES {
            let (stage, phase) = (tile % 2, tile as u32 / 2);
            // The first two tiles find their stages empty.
            if phase > 0 {
                empty(stage).wait((phase - 1) % 2);
            }
            *tiles.add(stage * 32 + lane) = *input.add((block * TILES + tile) * 32 + lane);
            full(stage).arrive();
        }
    } else {
        let mut sum = 0.0;
        for tile in 0..TILES {
            let (stage, phase) = (tile % 2, tile as u32 / 2);
            // ---- your code: about 3 lines ----
        }
        *output.add(block * 32 + lane) = sum;
    }
}

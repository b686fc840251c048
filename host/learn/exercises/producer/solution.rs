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
            full(stage).wait(phase % 2);
            sum += *tiles.add(stage * 32 + 31 - lane);
            empty(stage).arrive();
        }
        *output.add(block * 32 + lane) = sum;
    }
}

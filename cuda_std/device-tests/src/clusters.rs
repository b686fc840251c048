//! Clusters: compute capability 9.0.

use super::put;
use cuda_std::async_copy::SharedAddress;
use cuda_std::cluster::{self, ClusterBarrier};
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::tma::{self, TensorMap};

/// Rank and number of blocks, 2 columns a thread.
///
/// # Safety
/// `output` has 2 elements for each thread of the grid.
#[kernel]
pub unsafe fn cluster_ranks(output: *mut u32) {
    // SAFETY: 2 columns.
    unsafe {
        put(output, 2, 0, cluster::block_rank());
        put(output, 2, 1, cluster::block_count());
    }
}

/// Each thread writes its number in the grid to shared memory, and 4 floats; it reads those of its
/// neighbours in the next block of the cluster, and in the one before. 5 columns a thread.
///
/// # Safety
/// Blocks of 64 threads in one dimension; `output` has 5 elements for each thread of the grid.
#[kernel]
pub unsafe fn cluster_neighbours(output: *mut f32) {
    let words = shared_array![u32; 64];
    let vectors = shared_array![f32; 256];
    let i = thread::thread_idx_x();
    let number = thread::index_1d();
    let (rank, count) = (cluster::block_rank(), cluster::block_count());
    let (next, before) = ((rank + 1) % count, (rank + count - 1) % count);
    // SAFETY: each thread writes its own places. Barriers of the cluster lie between writing and
    // reading, and before the end.
    unsafe {
        *words.add(i as usize) = number;
        for at in 0..4 {
            *vectors.add((4 * i + at) as usize) = (4 * number + at) as f32;
        }
        cluster::sync();
        let word: u32 = cluster::map(SharedAddress::of(words).at(4 * i), next).load();
        let vector = cluster::map(SharedAddress::of(vectors), before).at(16 * i);
        let floats = vector.load_4();
        cluster::arrive();
        put(output, 5, 0, word as f32);
        for (column, float) in floats.into_iter().enumerate() {
            put(output, 5, column as u32 + 1, float);
        }
        cluster::wait();
    }
}

/// Adds up the rows of the blocks of a cluster: each block has a row of 128 floats, and puts it
/// into the shared memory of the first block, which adds up. `output` gets a row for each cluster.
///
/// # Safety
/// Blocks of 32 threads in one dimension, clusters of at most 8; `input` has 128 elements for each
/// block, and `output` for each cluster, aligned to 16 bytes.
#[kernel]
pub unsafe fn cluster_sums(input: &[f32], output: *mut f32) {
    let rows = shared_array![f32; 8 * 128];
    let i = thread::thread_idx_x();
    let (rank, count) = (cluster::block_rank(), cluster::block_count());
    let slot = SharedAddress::of(rows).at(512 * rank + 16 * i);
    // SAFETY: each thread of each block writes its own slots of the first block's memory, which is
    // there behind the first barrier; the second one lies between writing and reading.
    unsafe {
        let from = (128 * thread::block_idx_x() + 4 * i) as usize;
        let own = [0, 1, 2, 3].map(|at| *input.get_unchecked(from + at));
        cluster::sync();
        cluster::map(slot, 0).store_4(own);
        cluster::sync();
        if rank == 0 {
            let first = 128 * (thread::block_idx_x() / count);
            for at in 0..4 {
                let mut sum = 0.0;
                for row in 0..count {
                    sum += *rows.add((128 * row + 4 * i + at) as usize);
                }
                *output.add((first + 4 * i + at) as usize) = sum;
            }
        }
    }
}

/// Each block writes a word into the shared memory of the first one and arrives there at an
/// mbarrier; the first block waits for all, and each of its threads adds up the words. 1 column a
/// thread.
///
/// # Safety
/// One-dimensional; clusters of at most 8 blocks; `output` has an element for each thread of the
/// grid.
#[kernel]
pub unsafe fn cluster_arrivals(output: *mut u32) {
    let words = shared_array![u32; 8];
    let object = shared_array![u64; 1];
    let full = Barrier::new(SharedAddress::of(object));
    let (rank, count) = (cluster::block_rank(), cluster::block_count());
    let is_first = thread::thread_idx_x() == 0;
    // SAFETY: one thread of the first block initialises the barrier, and publishes that before the
    // barrier of the cluster. A thread of each block writes its own slot, and arrives once. No
    // block ends before the last barrier.
    unsafe {
        if is_first && rank == 0 {
            full.init(count);
            cluster::fence_mbarrier_init();
        }
        cluster::arrive_relaxed();
        cluster::wait();
        if is_first {
            let slot = cluster::map(SharedAddress::of(words).at(4 * rank), 0);
            slot.store(thread::block_idx_x() + 100);
            ClusterBarrier::of(full, 0).arrive();
        }
        let mut sum = 0;
        if rank == 0 {
            full.try_wait_loop_cluster(0);
            for block in 0..count {
                sum += *words.add(block as usize);
            }
        }
        put(output, 1, 0, sum);
        cluster::sync();
    }
}

/// Rows of a tile, of 32 words each.
const ROWS: u32 = 8;

/// Words of a tile.
const TILE: u32 = 32 * ROWS;

/// Each block copies one tile of a tensor to all blocks of its cluster at once: that of the matrix
/// of its rank. What each block has then goes to `output`, tile by tile. How many bytes a block
/// waits for it is told by the next one.
///
/// # Safety
/// One-dimensional blocks and grid, clusters of at most 4 blocks. `map` is that of matrices of 8 ×
/// 32 words, as many as a cluster has blocks, swizzled by 128 bytes, whose box is one of them;
/// `output` has an element for each word of each block's tiles.
#[kernel]
pub unsafe fn cluster_multicast(map: *const TensorMap, output: *mut u32) {
    let tiles = tma_tiles();
    let object = shared_array![u64; 1];
    let full = Barrier::new(SharedAddress::of(object));
    let (rank, count) = (cluster::block_rank(), cluster::block_count());
    let i = thread::thread_idx_x();
    // SAFETY: one thread initialises the barrier of its block, publishes that, and all of them
    // meet. Each block then has one arrival, by its neighbour, and one tile from each block; no
    // thread touches the tiles before. No block ends before the last barrier.
    unsafe {
        if i == 0 {
            full.init(1);
            tma::fence_barrier_init();
        }
        cluster::sync();
        if i == 0 {
            let expected = ClusterBarrier::of(full, (rank + 1) % count);
            expected.arrive_expect_tx(4 * TILE * count);
            let to = SharedAddress::of(tiles).at(4 * TILE * rank);
            let all = ((1 << count) - 1) as u16;
            tma::load_3d_multicast(to, map, [0, 0, rank], full, all);
        }
        full.try_wait_loop(0);
        let mut at = i;
        while at < TILE * count {
            let (row, column) = (at / 32 % ROWS, at % 32);
            // Pieces of 16 bytes are exchanged by the row.
            let piece = (column / 4) ^ (row % 8);
            let index = at / 32 * 32 + 4 * piece + column % 4;
            let to = TILE * count * thread::block_idx_x() + at;
            *output.add(to as usize) = *tiles.add(index as usize);
            at += thread::block_dim_x();
        }
        cluster::sync();
    }
}

/// Shared memory for the tiles of 4 blocks, aligned to 1024 bytes as the swizzle wants it.
#[inline(always)]
fn tma_tiles() -> *mut u32 {
    let memory = shared_array![u32; (4 * TILE + 256) as usize];
    let address = SharedAddress::of(memory).bytes();
    let offset = address.next_multiple_of(1024) - address;
    memory.wrapping_byte_add(offset as usize)
}

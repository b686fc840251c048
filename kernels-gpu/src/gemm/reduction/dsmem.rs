//! DSMEM reduction: the blocks of a cluster reduce a tile's partial sums through each other's
//! shared memory.
//!
//! Each block of the cluster has computed one split of the tile's k-tiles. The epilogue tiles,
//! which are columns of the tile, are dealt out to the blocks. Each block stores its partial sums
//! of the others' epilogue tiles to its own shared memory. It then loads the others' partial sums
//! of its own epilogue tiles, adds them, and stores them to C. Compared with partial sums in global
//! memory, which the last block to arrive loads, fewer bytes move, there is no counter, and all
//! blocks store.
//!
//! # Source
//! Beyond the sources; for clusters see the PTX ISA, "Cluster of Cooperative Thread Arrays".

use crate::gemm::epilogue::tma_store::{box_columns, box_registers};
use crate::gemm::wgmma::stage::WARPGROUP;
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::cluster;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};
use cuda_std::wgmma::{self, Accumulator};

/// Accumulators of a vector.
const VECTOR: usize = 4;

/// Bytes of a line: one vector of each thread of a warpgroup.
const LINE_BYTES: usize = WARPGROUP * VECTOR * size_of::<f32>();

/// Epilogue tiles of a tile of `bn` columns, for elements of C of `element_bytes` bytes. The tile
/// may end inside of the last one.
pub const fn epilogue_tiles(bn: u32, element_bytes: usize) -> u32 {
    bn.div_ceil(box_columns(element_bytes) as u32)
}

/// Number of the named barrier of all consumer warpgroups. Barriers with lower numbers are of one
/// warpgroup each.
pub const CONSUMERS_BARRIER: u32 = 15;

/// Reduces the partial sums of a tile. Returns the epilogue tiles of this block, whose accumulators
/// are then the sums over all splits. They are added from the block's own split on in the order of
/// the ranks, so the result is always the same. [`wait_for_peers`] must follow. The tile has
/// `count` epilogue tiles.
///
/// # Safety
/// All `CONSUMERS` consumer warpgroups of all blocks of the cluster call this, and nothing else in
/// these blocks waits at the cluster's barrier. `memory` is a multiple of 16 and has the bytes of
/// the block tile's accumulators. No thread and no MMA uses it once all consumers have called this.
/// `warpgroup` is the index of the calling consumer warpgroup.
#[inline(always)]
pub unsafe fn reduce<S: Accumulator, C, const CONSUMERS: usize>(
    accumulators: &mut S,
    count: u32,
    memory: *mut u8,
    warpgroup: usize,
) -> Range<u32> {
    let splits = cluster::block_count();
    let most = epilogue_tiles(S::COLUMNS as u32, size_of::<C>());
    let each = count.div_ceil(splits);
    let rank = cluster::block_rank();
    let first = rank * each;
    let own = first..(first + each).min(count);
    let thread = thread::thread_idx_x() as usize % WARPGROUP;
    let lines = box_registers(size_of::<C>()) / VECTOR;
    let offset =
        warpgroup * S::COLUMNS / 2 * LINE_BYTES / VECTOR + thread * VECTOR * size_of::<f32>();
    let vectors = memory.wrapping_add(offset);
    // SAFETY: the contract says that `memory` has the accumulators' bytes and is aligned, and the
    // barrier orders its earlier uses before these. Each thread stores to vectors of its own.
    // `cluster::sync` orders the stores of all blocks before the loads of their peers, and each
    // block stays until `wait_for_peers`, after which no peer loads from it.
    unsafe {
        wgmma::sync_several(CONSUMERS_BARRIER, (CONSUMERS * WARPGROUP) as u32);
        for index in 0..most {
            if index >= count || own.contains(&index) {
                continue;
            }
            for line in index as usize * lines..(index as usize + 1) * lines {
                let four = core::array::from_fn(|i| accumulators.get(line * VECTOR + i));
                F32x4::store(vectors.wrapping_add(line * LINE_BYTES).cast(), four);
            }
        }
        cluster::sync();
        for index in 0..most {
            if !own.contains(&index) {
                continue;
            }
            let mut peer = 1;
            while peer < splits {
                let from = cluster::map(SharedAddress::of(vectors), (rank + peer) % splits);
                for line in index as usize * lines..(index as usize + 1) * lines {
                    let four = from.at((line * LINE_BYTES) as u32).load_4();
                    for i in 0..VECTOR {
                        let register = line * VECTOR + i;
                        accumulators.set(register, accumulators.get(register) + four[i]);
                    }
                }
                peer += 1;
            }
        }
    }
    // Relaxed: this block has only loaded, and publishes nothing to its peers.
    cluster::arrive_relaxed();
    own
}

/// Waits until the other blocks of the cluster have loaded this block's partial sums.
///
/// # Safety
/// Follows [`reduce`] once, in all threads that called it.
#[inline(always)]
pub unsafe fn wait_for_peers() {
    cluster::wait();
}

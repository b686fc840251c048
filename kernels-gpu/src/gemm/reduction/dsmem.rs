//! The parts of a tile, added up by the blocks of a cluster through each other's shared memory.
//!
//! Each block of the cluster has summed a part of the tile's steps along k. The tile's boxes of columns are dealt out to the blocks: each
//! leaves its accumulators of the others' boxes in its own shared memory, reads the others' accumulators of its own boxes, adds them up, and stores them.
//! Against parts in global memory, which the last block reads, less is moved, nobody counts, and all blocks store.
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

/// OutputElements of a vector of accumulators.
const VECTOR: usize = 4;

/// Bytes of a line: a vector of each thread of a warpgroup.
const LINE_BYTES: usize = WARPGROUP * VECTOR * size_of::<f32>();

/// Boxes of a tile of so many columns, of which C has elements of so many bytes.
pub const fn epilogue_tiles(columns: usize, element_bytes: usize) -> u32 {
    (columns / box_columns(element_bytes)) as u32
}

/// A barrier of all consumers that mma; each has one of its own before it.
pub const CONSUMERS_BARRIER: u32 = 15;

/// Adds up the parts of a tile. Returns the boxes that this block has; their accumulators are then those of all parts, from its own on in the
/// order of the ranks, so that the result is always the same. What follows ends with [`wait_for_peers`].
///
/// # Safety
/// All of this block's `CONSUMERS` that mma call this, and so does each block of the cluster; nothing else in them is at a
/// barrier of the cluster. `memory` is a multiple of 16 and has the bytes of the tile's accumulators, which nobody uses once all of these
/// threads are here. `warpgroup` is the number of this one.
#[inline(always)]
pub unsafe fn reduce<S: Accumulator, C, const CONSUMERS: usize>(
    accumulators: &mut S,
    memory: *mut u8,
    warpgroup: usize,
) -> Range<u32> {
    let parts = cluster::block_count();
    let count = epilogue_tiles(S::COLUMNS, size_of::<C>());
    let each = count.div_ceil(parts);
    let own = cluster::block_rank();
    let first = own * each;
    let mine = first..(first + each).min(count);
    let thread = thread::thread_idx_x() as usize % WARPGROUP;
    let vectors = box_registers(size_of::<C>()) / VECTOR;
    let bytes =
        warpgroup * S::COLUMNS / 2 * LINE_BYTES / VECTOR + thread * VECTOR * size_of::<f32>();
    let place = memory.wrapping_add(bytes);
    // SAFETY: the caller ensures that all are here and the memory. A thread's vectors have places of their own. The blocks read
    // what was written before they met, and go on to exist until all have read.
    unsafe {
        wgmma::sync_several(CONSUMERS_BARRIER, (CONSUMERS * WARPGROUP) as u32);
        for index in 0..count {
            if mine.contains(&index) {
                continue;
            }
            for line in index as usize * vectors..(index as usize + 1) * vectors {
                let four = core::array::from_fn(|i| accumulators.get(line * VECTOR + i));
                F32x4::store(place.wrapping_add(line * LINE_BYTES).cast(), four);
            }
        }
        cluster::sync();
        for index in 0..count {
            if !mine.contains(&index) {
                continue;
            }
            let mut part = 1;
            while part < parts {
                let from = cluster::map(SharedAddress::of(place), (own + part) % parts);
                for line in index as usize * vectors..(index as usize + 1) * vectors {
                    let four = from.at((line * LINE_BYTES) as u32).load_4();
                    for i in 0..VECTOR {
                        let register = line * VECTOR + i;
                        accumulators.set(register, accumulators.get(register) + four[i]);
                    }
                }
                part += 1;
            }
        }
    }
    // There is nothing to see for the others: this block has read.
    cluster::arrive_relaxed();
    mine
}

/// Waits until the other blocks have read this one's accumulators.
///
/// # Safety
/// Follows [`reduce`] once, in all threads that called it.
#[inline(always)]
pub unsafe fn wait_for_peers() {
    cluster::wait();
}

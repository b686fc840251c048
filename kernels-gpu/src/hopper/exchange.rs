//! The parts of a tile, added up by the blocks of a cluster through each other's shared memory.
//!
//! Each block of the cluster has summed a part of the tile's steps along k. The tile's boxes of columns are dealt out to the blocks: each
//! leaves its sums of the others' boxes in its own shared memory, reads the others' sums of its own boxes, adds them up, and stores them.
//! Against parts in global memory, which the last block reads, less is moved, nobody counts, and all blocks store.
//!
//! # Source
//! Beyond the sources; for clusters see the PTX ISA, "Cluster of Cooperative Thread Arrays".

use super::store::{box_columns, box_registers};
use super::tiles::WARPGROUP;
use core::ops::Range;
use cuda_std::async_copy::SharedAddress;
use cuda_std::cluster;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};
use cuda_std::wgmma::{self, Accumulator};

/// Elements of a vector of sums.
const VECTOR: usize = 4;

/// Bytes of a line: a vector of each thread of a warpgroup.
const LINE_BYTES: usize = WARPGROUP * VECTOR * size_of::<f32>();

/// Boxes of a tile of so many columns, of which C has elements of so many bytes.
pub const fn boxes(columns: usize, element_bytes: usize) -> u32 {
    (columns / box_columns(element_bytes)) as u32
}

/// A barrier of all warpgroups that multiply; each has one of its own before it.
pub const ALL_MULTIPLY: u32 = 15;

/// Adds up the parts of a tile. Returns the boxes that this block has; their sums are then those of all parts, from its own on in the
/// order of the ranks, so that the result is always the same. What follows ends with [`leave`].
///
/// # Safety
/// All of this block's `WARPGROUPS` that multiply call this, and so does each block of the cluster; nothing else in them is at a
/// barrier of the cluster. `memory` is a multiple of 16 and has the bytes of the tile's sums, which nobody uses once all of these
/// threads are here. `warpgroup` is the number of this one.
#[inline(always)]
pub unsafe fn add_up<S: Accumulator, C, const WARPGROUPS: usize>(
    sums: &mut S,
    memory: *mut u8,
    warpgroup: usize,
) -> Range<u32> {
    let parts = cluster::block_count();
    let count = boxes(S::COLUMNS, size_of::<C>());
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
        wgmma::sync_several(ALL_MULTIPLY, (WARPGROUPS * WARPGROUP) as u32);
        for index in 0..count {
            if mine.contains(&index) {
                continue;
            }
            for line in index as usize * vectors..(index as usize + 1) * vectors {
                let four = core::array::from_fn(|i| sums.get(line * VECTOR + i));
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
                        sums.set(register, sums.get(register) + four[i]);
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

/// Waits until the other blocks have read this one's sums.
///
/// # Safety
/// Follows [`add_up`] once, in all threads that called it.
#[inline(always)]
pub unsafe fn leave() {
    cluster::wait();
}

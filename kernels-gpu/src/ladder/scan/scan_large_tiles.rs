//! `scan_large_tiles`: one pass, in tiles of twice the size.
//!
//! # Idea
//! While a tile looks back, its elements wait in registers, and its multiprocessor loads only for
//! the other blocks that it holds. What those hold in all, divided by the time a tile takes, is the
//! rate. So a thread holds 32 elements, eight loads of 128 bits that are in flight together, and
//! is bounded to 64 registers: four blocks, 128 KiB of elements, for a multiprocessor. There are
//! half as many tiles, too, and so half as many steps of the chain.
//!
//! Registers are what it costs, so nothing is kept that can be added at once. The vectors of a warp
//! follow each other in memory: what lies before a vector in the warp is known after the scans of
//! those before it, and goes into the elements. One sum a warp passes through shared memory.
//!
//! # Thread mapping
//! A tile is 8,192 elements, of which warp w has 1,024 from 1,024 w on: in each of eight rounds
//! lane l has four from 128 r + 4 l on. The first warp looks back.
//!
//! # Preconditions
//! As [`scan_look_back`](super::scan_look_back).
//!
//! # What changed since the rung before
//! Against `scan_look_back`: 32 elements a thread instead of 16, a run of the tile for each warp,
//! and the bound on registers.
//!
//! # Source
//! Beyond the sources. Merrill and Garland, "Single-pass parallel prefix scan with decoupled
//! look-back", 2016.

use super::scan_look_back::publish;
use super::{BLOCK, WARPS, inclusive};
use crate::geometry::Geometry;
use crate::ladder::block::{VECTOR, WARP, warp_index};
use cuda_std::atomic::{self, AtomicU64};
use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};

/// Rounds of a warp: vectors of a thread.
const ROUNDS: usize = 8;

/// Elements of a round and of all rounds of a warp.
const WARP_ROUND: usize = WARP * VECTOR;
const WARP_ELEMENTS: usize = ROUNDS * WARP_ROUND;

/// Elements of a tile.
pub const TILE: usize = WARPS * WARP_ELEMENTS;

/// 256 threads for 8,192 elements.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: TILE as u32,
};

// ANCHOR: lane
/// Where a lane's elements are: all of its vectors have the same distance, so that one register
/// and a constant address each, and one test says that all are there.
#[derive(Clone, Copy)]
struct Lane {
    /// The first.
    first: usize,
    /// Elements of the array from there on, as far as any of the lane's may be.
    left: usize,
}

impl Lane {
    /// From `first` on, of an array of `len` elements.
    #[inline(always)]
    fn new(first: usize, len: usize) -> Self {
        let left = len.saturating_sub(first).min(WARP_ELEMENTS);
        Lane { first, left }
    }

    /// Whether the last vector is inside of the array, and so all.
    #[inline(always)]
    fn is_whole(self) -> bool {
        self.left >= WARP_ELEMENTS - WARP_ROUND + VECTOR
    }

    /// Loads them; what lies behind the end counts as 0.
    ///
    /// # Safety
    /// `input` is the array and aligned to 16 bytes; `first` is a multiple of four.
    #[inline(always)]
    unsafe fn load(self, input: *const u32) -> [[u32; VECTOR]; ROUNDS] {
        let from = input.wrapping_add(self.first);
        let mut elements = [[0; VECTOR]; ROUNDS];
        if self.is_whole() {
            for round in 0..ROUNDS {
                // SAFETY: the test.
                elements[round] = unsafe { U32x4::load(from.add(round * WARP_ROUND)) };
            }
        } else {
            for i in 0..ROUNDS * VECTOR {
                let of = i / VECTOR * WARP_ROUND + i % VECTOR;
                if of < self.left {
                    // SAFETY: the test.
                    elements[i / VECTOR][i % VECTOR] = unsafe { *from.add(of) };
                }
            }
        }
        elements
    }

    /// Stores them, as far as the array goes.
    ///
    /// # Safety
    /// As for [`load`](Self::load), and no other thread accesses them.
    #[inline(always)]
    unsafe fn store(self, output: *mut u32, elements: [[u32; VECTOR]; ROUNDS]) {
        let to = output.wrapping_add(self.first);
        if self.is_whole() {
            for round in 0..ROUNDS {
                // SAFETY: the test.
                unsafe { U32x4::store(to.add(round * WARP_ROUND), elements[round]) };
            }
        } else {
            for i in 0..ROUNDS * VECTOR {
                let of = i / VECTOR * WARP_ROUND + i % VECTOR;
                if of < self.left {
                    // SAFETY: the test.
                    unsafe { *to.add(of) = elements[i / VECTOR][i % VECTOR] };
                }
            }
        }
    }
}
// ANCHOR_END: lane

// ANCHOR: rounds
/// Scans what a warp has, in place; every lane gets the sum.
///
/// # Safety
/// All lanes of the warp execute it together.
#[inline(always)]
unsafe fn scan_rounds(elements: &mut [[u32; VECTOR]; ROUNDS]) -> u32 {
    let mut sum = 0u32;
    for round in 0..ROUNDS {
        let scanned = inclusive(elements[round]);
        let own = scanned[VECTOR - 1];
        // SAFETY: all lanes are here.
        let (up_to_own, of_round) = unsafe {
            let up_to_own = warp::warp_scan_by(own, u32::wrapping_add);
            let last = WARP as u32 - 1;
            let (all, _) = warp::warp_shuffle_idx(warp::FULL_MASK, up_to_own, last, WARP as u32);
            (up_to_own, all)
        };
        let before = sum.wrapping_add(up_to_own.wrapping_sub(own));
        elements[round] = scanned.map(|x| x.wrapping_add(before));
        sum = sum.wrapping_add(of_round);
    }
    sum
}
// ANCHOR_END: rounds

/// The sum of the warps before this one in the block, and that of all.
///
/// # Safety
/// All threads of the block execute it together, and not in a loop.
#[inline(always)]
unsafe fn scan_warps(sum: u32) -> [u32; 2] {
    let of_warps = shared_array![u32; WARPS];
    let lane = warp::lane_id() as usize;
    // SAFETY: all threads are here. Each warp writes its own sum, and sums are read after the
    // barrier.
    unsafe {
        if lane == 0 {
            *of_warps.add(warp_index()) = sum;
        }
        thread::sync_threads();
        let of_warp = if lane < WARPS { *of_warps.add(lane) } else { 0 };
        let up_to_warp = warp::warp_scan_by(of_warp, u32::wrapping_add);
        let [up_to_this, all] = [warp_index(), WARP - 1].map(|of| {
            warp::warp_shuffle_idx(warp::FULL_MASK, up_to_warp, of as u32, WARP as u32).0
        });
        [up_to_this.wrapping_sub(sum), all]
    }
}

// ANCHOR: kernel
/// Scans the input.
///
/// # Safety
/// As for [`scan_look_back`](super::scan_look_back::scan_look_back), with the [`GEOMETRY`] here.
#[kernel(max_threads = BLOCK as u32, min_blocks = 4)]
pub unsafe fn scan_large_tiles(
    input: &[u32],
    output: *mut u32,
    counter: *mut u32,
    states: *const AtomicU64,
) {
    let shared = shared_array![u32; 2];
    let is_first = thread::thread_idx_x() == 0;
    // SAFETY: all threads of the block are at each barrier, and shared words are read after one.
    // States are accessed atomically. No other block has the ticket.
    unsafe {
        if is_first {
            *shared = atomic::count(counter);
        }
        thread::sync_threads();
        let number = *shared as usize;
        let of_lane = warp_index() * WARP_ELEMENTS + warp::lane_id() as usize * VECTOR;
        let lane = Lane::new(number * TILE + of_lane, input.len());
        let mut elements = lane.load(input.as_ptr());
        let [before_warp, sum] = scan_warps(scan_rounds(&mut elements));

        if warp_index() == 0 {
            let before = publish(states, number, sum);
            if is_first {
                *shared.add(1) = before;
            }
        }
        thread::sync_threads();
        let before = before_warp.wrapping_add(*shared.add(1));
        lane.store(
            output,
            elements.map(|vector| vector.map(|x| x.wrapping_add(before))),
        );
    }
}
// ANCHOR_END: kernel

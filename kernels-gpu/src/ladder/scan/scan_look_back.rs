//! `scan_look_back`: one pass, in which tiles look back at those before them.
//!
//! # Idea
//! Three launches load every element twice and store it twice. A block that knew the sum of all
//! tiles before its own could store its elements at once. Each tile publishes its own sum as soon
//! as it has it (the *aggregate*), and the sum of all up to it when it knows that (the *inclusive
//! prefix*). A tile looks back: it adds aggregates until it finds a prefix. That is seldom far,
//! since tiles before it have been at it for longer. No tile waits for a whole chain.
//!
//! A tile waits for tiles before it, so these must have begun, and blocks may start in any order.
//! So the number of a tile is not that of its block, but a ticket: the first block to come takes
//! tile 0. Every tile before one that runs then runs too, or has ended (forward progress).
//!
//! State and sum are one word of 64 bits, which is loaded and stored at once: a load that gets the
//! state gets the sum, and no fence is needed.
//!
//! # Thread mapping
//! A tile is 4,096 elements: in each of four rounds thread t has four from 1,024 r + 4 t on. Lane l
//! of the first warp looks at the tile l + 1 before its own, 32 at a time.
//!
//! # Preconditions
//! None; the arrays are aligned to 16 bytes (every allocation is). The states are cleared before.
//!
//! # What changed since the rung before
//! Against `scan_warp`: one pass over the elements instead of two, and 16 elements a thread.
//!
//! # Source
//! Beyond the sources. Merrill and Garland, "Single-pass parallel prefix scan with decoupled
//! look-back", 2016 (CUB's `DeviceScan`).

use super::{BLOCK, ROUND, Tile};
use crate::geometry::Geometry;
use crate::ladder::block::{WARP, warp_index};
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::{self, AtomicU64};
use cuda_std::prelude::*;

/// Rounds of a tile.
const ROUNDS: usize = 4;

/// Elements of a tile.
pub const TILE: usize = ROUNDS * ROUND;

/// 256 threads for 4,096 elements.
pub const GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: TILE as u32,
};

/// Words of 64 bits of the workspace before the states: the counter of tickets.
pub const COUNTER_WORDS: u64 = 1;

/// 256 threads, one word each: of the launch that clears the workspace.
pub const CLEAR_GEOMETRY: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

/// The workspace becomes 0.
///
/// # Safety
/// `words` is a device array of `count` elements; the grid and block are those of
/// [`CLEAR_GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_clear(words: *mut u64, count: u32) {
    let i = thread::block_idx_x() as usize * BLOCK + thread::thread_idx_x() as usize;
    if i < count as usize {
        // SAFETY: the test, and each word has one thread.
        unsafe { *words.add(i) = 0 };
    }
}

// ANCHOR: state
/// What a tile has published, in the upper half of its word: nothing, its own sum, or the sum of
/// all up to it.
const NOTHING: u64 = 0;
const AGGREGATE: u64 = 1 << 32;
const PREFIX: u64 = 2 << 32;

/// The state of a word.
#[inline(always)]
fn state(word: u64) -> u64 {
    word & !(u32::MAX as u64)
}
// ANCHOR_END: state

// ANCHOR: look_back
/// The sum of all tiles before `tile`, which is not the first.
///
/// # Safety
/// All lanes of the warp execute it together. `states` has a word for each tile, and tiles before
/// this one publish theirs without waiting for it.
#[inline(always)]
unsafe fn look_back(states: *const AtomicU64, tile: usize) -> u32 {
    let lane = warp::lane_id() as usize;
    let (mut sum, mut end) = (0u32, tile);
    loop {
        // Lanes beyond the first tile look at it again: it publishes a prefix at once, and lanes
        // behind that count nothing.
        let of = end.saturating_sub(lane + 1);
        // SAFETY: there is such a tile.
        let mut word = unsafe { (*states.add(of)).load(Relaxed) };
        while state(word) == NOTHING {
            // SAFETY: the same one.
            word = unsafe { (*states.add(of)).load(Relaxed) };
        }
        // SAFETY: all lanes are here.
        let prefixes = unsafe { warp::warp_vote_ballot(warp::FULL_MASK, state(word) == PREFIX) };
        // The nearest tile with a prefix is the last that counts.
        let counts = lane as u32 <= prefixes.trailing_zeros();
        let value = if counts { word as u32 } else { 0 };
        // SAFETY: all lanes are here.
        sum = sum.wrapping_add(unsafe { warp::warp_reduce_by(value, u32::wrapping_add) });
        if prefixes != 0 {
            return sum;
        }
        end -= WARP;
    }
}
// ANCHOR_END: look_back

// ANCHOR: publish
/// The sum of all tiles before `tile`, whose own sum is published first, and with that sum then.
///
/// # Safety
/// As for [`look_back`], by one warp; no other warp has the tile.
#[inline(always)]
pub(super) unsafe fn publish(states: *const AtomicU64, tile: usize, sum: u32) -> u32 {
    // SAFETY: there is a word for the tile.
    let state = unsafe { &*states.add(tile) };
    let is_first = warp::lane_id() == 0;
    let mut before = 0;
    if tile > 0 {
        if is_first {
            state.store(AGGREGATE | sum as u64, Relaxed);
        }
        // SAFETY: the contract.
        before = unsafe { look_back(states, tile) };
    }
    if is_first {
        state.store(PREFIX | before.wrapping_add(sum) as u64, Relaxed);
    }
    before
}
// ANCHOR_END: publish

// ANCHOR: kernel
/// Scans the input.
///
/// # Safety
/// `input` and `output` are device arrays of the same number of elements that are aligned to 16
/// bytes and do not overlap; `counter` and `states`, one for each block, are 0 before the launch;
/// the grid and block are those of [`GEOMETRY`].
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_look_back(
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
        let first = number * TILE;
        let tile = Tile::<ROUNDS>::scan(input, first);

        if warp_index() == 0 {
            let before = publish(states, number, tile.sum);
            if is_first {
                *shared.add(1) = before;
            }
        }
        thread::sync_threads();
        tile.store(output, input.len(), first, *shared.add(1));
    }
}
// ANCHOR_END: kernel

//! The inclusive scan of an array of `u32`: output i is the sum of elements 0 to i, wrapping
//! around.
//!
//! | file | rungs |
//! |---|---|
//! | [`scan_hillis_steele`] | `scan_hillis_steele` |
//! | [`scan_blelloch`] | `scan_blelloch` |
//! | [`scan_warp`] | `scan_warp` |
//! | [`scan_look_back`](mod@scan_look_back) | `scan_look_back` |
//! | [`scan_large_tiles`](mod@scan_large_tiles) | `scan_large_tiles` |
//!
//! Elements are integers, as in the uses of a scan: offsets of lists, positions of what is kept.
//! Sums of integers are the same in any order, so every rung gives the same bits.
//!
//! The first three rungs are three launches: each block scans its own tile and stores the sum of
//! it, one block scans the sums ([`scan_sums`](mod@scan_sums)), and each element gets the sum of
//! all tiles before its own added ([`scan_add`](mod@scan_add)). They differ in the first launch.

use super::block::{VECTOR, WARP, load_or, warp_index};
use cuda_std::prelude::*;
use cuda_std::vector::U32x4;

/// Threads of a block in this family.
pub const BLOCK: usize = 256;

/// Warps of a block.
const WARPS: usize = BLOCK / WARP;

/// Elements that all threads of a block load at once, four each: 1,024.
pub const ROUND: usize = BLOCK * VECTOR;

// ANCHOR: inclusive
/// The inclusive scan of four elements.
#[inline(always)]
fn inclusive([a, b, c, d]: [u32; VECTOR]) -> [u32; VECTOR] {
    let ab = a.wrapping_add(b);
    let abc = ab.wrapping_add(c);
    [a, ab, abc, abc.wrapping_add(d)]
}
// ANCHOR_END: inclusive

/// The scan of a tile of `ROUNDS` · 1,024 elements by a block.
struct Tile<const ROUNDS: usize> {
    /// Four elements of each round, scanned among themselves.
    elements: [[u32; VECTOR]; ROUNDS],
    /// The sum of what lies before these in the tile.
    before: [u32; ROUNDS],
    /// The sum of the tile.
    sum: u32,
}

impl<const ROUNDS: usize> Tile<ROUNDS> {
    // ANCHOR: tile
    /// Loads and scans the tile that begins at `first`; what lies behind the end counts as 0.
    ///
    /// A thread scans its four elements in registers. A warp scans the sums of its lanes by
    /// shuffles. The sums of all warps and rounds, at most 32, lie in shared memory, where each
    /// warp scans them for itself.
    ///
    /// # Safety
    /// All threads of the block execute it together, and not in a loop. `input` is aligned to 16
    /// bytes, and `first` a multiple of four.
    #[inline(always)]
    unsafe fn scan(input: &[u32], first: usize) -> Self {
        const {
            assert!(
                ROUNDS * WARPS <= WARP,
                "one warp scans the sums of all warps"
            )
        };
        let sums = shared_array![u32; WARP];
        let (t, lane) = (thread::thread_idx_x() as usize, warp::lane_id() as usize);
        let mut elements = [[0; VECTOR]; ROUNDS];
        let mut before = [0; ROUNDS];
        // SAFETY: all threads are here, by the contract. Each warp writes its own sums, and sums
        // are read after the barrier.
        unsafe {
            for round in 0..ROUNDS {
                let from = first + round * ROUND + t * VECTOR;
                elements[round] = load_or::<U32x4, u32>(input, from, 0);
            }
            for round in 0..ROUNDS {
                elements[round] = inclusive(elements[round]);
                let own = elements[round][VECTOR - 1];
                let up_to_own = warp::warp_scan_by(own, u32::wrapping_add);
                before[round] = up_to_own.wrapping_sub(own);
                if lane == WARP - 1 {
                    *sums.add(round * WARPS + warp_index()) = up_to_own;
                }
            }
            thread::sync_threads();
            let of_warp = if lane < ROUNDS * WARPS {
                *sums.add(lane)
            } else {
                0
            };
            let up_to_warp = warp::warp_scan_by(of_warp, u32::wrapping_add);
            let before_warp = up_to_warp.wrapping_sub(of_warp);
            for round in 0..ROUNDS {
                let of = (round * WARPS + warp_index()) as u32;
                let (sum, _) =
                    warp::warp_shuffle_idx(warp::FULL_MASK, before_warp, of, WARP as u32);
                before[round] = before[round].wrapping_add(sum);
            }
            let last = WARP as u32 - 1;
            let (sum, _) = warp::warp_shuffle_idx(warp::FULL_MASK, up_to_warp, last, WARP as u32);
            Tile {
                elements,
                before,
                sum,
            }
        }
    }
    // ANCHOR_END: tile

    /// Stores the tile with `before_tile` added, as far as the array goes.
    ///
    /// # Safety
    /// `output` has `len` elements and is aligned to 16 bytes; `first` is that of
    /// [`scan`](Self::scan), and no other block has the tile.
    #[inline(always)]
    unsafe fn store(&self, output: *mut u32, len: usize, first: usize, before_tile: u32) {
        let t = thread::thread_idx_x() as usize;
        for round in 0..ROUNDS {
            let before = self.before[round].wrapping_add(before_tile);
            let to = first + round * ROUND + t * VECTOR;
            let mut elements = self.elements[round];
            for i in 0..VECTOR {
                elements[i] = elements[i].wrapping_add(before);
            }
            // SAFETY: the contract.
            unsafe { super::block::store_within::<U32x4, u32>(output, len, to, elements) };
        }
    }
}

pub mod scan_add;
pub mod scan_blelloch;
pub mod scan_hillis_steele;
pub mod scan_large_tiles;
pub mod scan_look_back;
pub mod scan_sums;
pub mod scan_warp;

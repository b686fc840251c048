//! `scan_sums`: the second of three launches, in which one block scans the sums of all tiles.

use super::{BLOCK, WARPS};
use crate::ladder::block::{WARP, warp_index};
use cuda_std::prelude::*;

/// Each sum becomes the sum of those before it.
///
/// One block takes 256 sums at a time. While there are few this is short; with many, the other
/// multiprocessors wait for one.
///
/// # Safety
/// `sums` is a device array of `count` elements; there is one block of 256 threads.
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn scan_sums(sums: *mut u32, count: u32) {
    let of_warps = shared_array![u32; WARPS];
    let lane = warp::lane_id() as usize;
    let mut before = 0u32;
    let mut first = 0;
    while first < count as usize {
        let i = first + thread::thread_idx_x() as usize;
        // SAFETY: the sum is read and written where there is one, by this thread alone. All threads
        // are in the same round. Sums of warps are read after a barrier, and written again after
        // another one.
        unsafe {
            let own = if i < count as usize { *sums.add(i) } else { 0 };
            let up_to_own = warp::warp_scan_by(own, u32::wrapping_add);
            if lane == WARP - 1 {
                *of_warps.add(warp_index()) = up_to_own;
            }
            thread::sync_threads();
            let of_warp = if lane < WARPS { *of_warps.add(lane) } else { 0 };
            let up_to_warp = warp::warp_scan_by(of_warp, u32::wrapping_add);
            let [before_warp, all] = [warp_index().wrapping_sub(1), WARP - 1].map(|of| {
                warp::warp_shuffle_idx(warp::FULL_MASK, up_to_warp, of as u32, WARP as u32).0
            });
            let before_warp = if warp_index() > 0 { before_warp } else { 0 };
            if i < count as usize {
                let in_round = before_warp.wrapping_add(up_to_own.wrapping_sub(own));
                *sums.add(i) = before.wrapping_add(in_round);
            }
            before = before.wrapping_add(all);
            thread::sync_threads();
        }
        first += BLOCK;
    }
}

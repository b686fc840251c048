//! `histogram_warp`: lanes with the same bin add once.
//!
//! # Idea
//! Elements are seldom spread evenly. Where many lanes of a warp have the same bin, their atomics
//! wait for each other. `match.any` tells each lane which lanes have its value, and the first of
//! them adds for all. Every warp then has one atomic for each distinct bin, at the price of a match
//! for each element: it pays where values repeat, and costs where they do not.
//!
//! # Thread mapping
//! As `histogram_shared`.
//!
//! # Preconditions
//! As `histogram_shared`.
//!
//! # What changed since the rung before
//! Against `histogram_shared`: the atomics of lanes with the same bin are one.
//!
//! # Source
//! Beyond the sources. Adinets, "Optimized filtering with warp-aggregated atomics", 2014; PTX ISA,
//! "match.sync".

use super::{BINS, BLOCK, histogram_shared};
use crate::geometry::Geometry;
use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::AtomicU32;
use cuda_std::prelude::*;

/// 256 threads for 4,096 elements.
pub const GEOMETRY: Geometry = histogram_shared::GEOMETRY;

// ANCHOR: kernel
/// Counts all elements.
///
/// # Safety
/// As for [`histogram_shared`](super::histogram_shared::histogram_shared).
#[kernel(max_threads = BLOCK as u32, min_blocks = 1)]
pub unsafe fn histogram_warp(input: &[u32], output: *const AtomicU32) {
    // SAFETY: all threads of the block are here, so all lanes are at each match. Bins are inside of
    // the array, which is accessed atomically by this block alone.
    unsafe {
        histogram_shared::body(input, output, |bins, is_there, bin| {
            // A bin that there is not, for lanes without an element.
            let matched = if is_there { bin } else { BINS } as u32;
            let same = warp::warp_match_any(warp::FULL_MASK, matched);
            if is_there && same.trailing_zeros() == warp::lane_id() {
                (*bins.add(bin)).fetch_add(same.count_ones(), Relaxed);
            }
        });
    }
}
// ANCHOR_END: kernel

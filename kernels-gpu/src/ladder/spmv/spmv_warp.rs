//! `spmv_warp`: a warp for a row.
//!
//! # Idea
//! The elements of one row lie next to each other, so 32 lanes load them coalesced, and add up by
//! shuffles at the end. Rows of any length keep their warp to themselves. But of a row of five
//! elements, 27 lanes have none, and the five shuffles are as many for five elements as for 500.
//!
//! # Thread mapping
//! Warp w of block b has row 8 b + w; lane l takes its elements l, l + 32, l + 64, …
//!
//! # Preconditions
//! As `spmv_thread`.
//!
//! # What changed since the rung before
//! Against `spmv_thread`: lanes for a row, from 1 to 32.
//!
//! # Source
//! Beyond the sources. Bell and Garland, 2009 ("CSR, vector").

use super::{BLOCK, Csr, WARP};
use crate::geometry::Geometry;
use cuda_std::prelude::*;

/// Geometry with `lanes` lanes for a row.
pub const fn geometry(lanes: usize) -> Geometry {
    Geometry::Linear {
        block: BLOCK as u32,
        elements: (BLOCK / lanes) as u32,
    }
}

// ANCHOR: body
#[inline(always)]
pub(super) unsafe fn body<const LANES: usize>(csr: Csr<'_>, output: *mut f32, rows: usize) {
    const { assert!(LANES.is_power_of_two() && LANES <= WARP) };
    let t = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize * (BLOCK / LANES) + t / LANES;
    let lane = t % LANES;
    // SAFETY: the row is there by the test, and one lane stores. All lanes of the warp are at each
    // shuffle, also those without a row.
    unsafe {
        let mut sum = if row < rows {
            csr.dot(row, lane, LANES)
        } else {
            0.0
        };
        let mut distance = LANES as u32 / 2;
        while distance > 0 {
            let (other, _) =
                warp::warp_shuffle_xor(warp::FULL_MASK, sum, distance, warp::WARP_SIZE);
            sum += other;
            distance /= 2;
        }
        if row < rows && lane == 0 {
            *output.add(row) = sum;
        }
    }
}
// ANCHOR_END: body

spmv_kernels! {
    /// A warp for a row.
    spmv_warp => body::<WARP>;
}

//! # Detective: silent lanes
//!
//! The lower half of each warp is to add what the upper half has: lane l, for l below 16, writes
//! its own element plus that of lane l + 16. Only the lower half has something to write, so only
//! the lower half executes the shuffle. It gets nonsense.
//!
//! # What to do
//!
//! Run the check. A shuffle is an exchange: lanes give and take in the same instruction, and all
//! lanes that the mask names have to execute it. Let them.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn silent_lanes(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (warp, lane) = (i / 32, i % 32);
    let own = *input.add(i);
    if lane < 16 {
        let upper = warp::warp_shuffle_down(warp::FULL_MASK, own, 16, 32).0;
        *output.add(16 * warp + lane) = own + upper;
    }
}

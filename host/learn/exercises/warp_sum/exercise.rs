//! # A sum without memory
//!
//! The 32 threads of a warp, its lanes, can read each other's registers.
//! `warp::warp_shuffle_xor(warp::FULL_MASK, value, mask, 32).0` is the `value` of the lane whose
//! number differs from this one's in the bits of `mask`: with 1 the lanes 0 and 1 swap, 2 and 3,
//! and so on; with 16 lane 0 and lane 16. No shared memory, no barrier.
//!
//! ```text
//! lane       0    1    2    3           after mask 1     after mask 2
//! sum        a    b    c    d     ->    a+b for 0 and 1, then a+b+c+d for 0 to 3, ...
//! ```
//!
//! # What to do
//!
//! Sum the 32 elements of each warp. After the masks 16, 8, 4, 2 and 1, each lane has the whole
//! sum; lane 0 writes it to `output[warp]`.

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn warp_sum(input: *const f32, output: *mut f32) {
    let i = thread::index_1d() as usize;
    let (warp, lane) = (i / 32, i % 32);
    let mut sum = *input.add(i);
    // ---- your code: about 8 lines ----
}

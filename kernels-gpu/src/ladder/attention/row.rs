//! Reductions of a row of accumulators, which four neighbouring lanes have (PTX ISA, "Matrix
//! Fragments for mma.m16n8k16", "Register Fragments for wgmma.mma_async").

use cuda_std::prelude::*;

/// Lanes that share a row of accumulators.
const ROW_LANES: u32 = 4;

/// The values of the four neighbouring lanes that have a row, combined; each of them gets the
/// result.
///
/// # Safety
/// The whole warp is here.
#[inline(always)]
pub(super) unsafe fn of_row(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let (mut value, mut distance) = (value, ROW_LANES / 2);
    while distance > 0 {
        // SAFETY: the whole warp is here.
        let (other, _) =
            unsafe { warp::warp_shuffle_xor(warp::FULL_MASK, value, distance, warp::WARP_SIZE) };
        value = combine(value, other);
        distance /= 2;
    }
    value
}

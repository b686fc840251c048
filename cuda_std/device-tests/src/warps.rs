//! Reductions, matches and shuffles of every width.

use super::put;
use cuda_std::prelude::*;
use cuda_std::warp::WarpReductionOp::{Add, And, Max, Min, Or, Xor};

/// Each reduction of `lane² - 100`, signed and unsigned, in the whole warp and in the lanes whose
/// number is a multiple of 3. 14 columns a thread.
///
/// # Safety
/// Blocks of whole warps; `output` has 14 elements for each thread of the grid.
#[inline(always)]
pub unsafe fn reduce(output: *mut u32) {
    let lane = warp::lane_id();
    let value = (lane * lane) as i32 - 100;
    let all = warp::FULL_MASK;
    // SAFETY: every lane executes the first twelve; the lanes of the mask the last two.
    unsafe {
        // No loop: each reduction is an instruction of its own.
        macro_rules! columns {
            ($($column:literal: $op:expr),*) => {
                $(
                    let signed = warp::warp_reduce(all, value, $op);
                    put(output, 14, $column, signed as u32);
                    let unsigned = warp::warp_reduce(all, value as u32, $op);
                    put(output, 14, 6 + $column, unsigned);
                )*
            };
        }
        columns!(0: Add, 1: Min, 2: Max, 3: And, 4: Or, 5: Xor);
        let thirds = 0x4924_9249;
        if lane.is_multiple_of(3) {
            let sum = warp::warp_reduce(thirds, value, Add);
            put(output, 14, 12, sum as u32);
            put(output, 14, 13, warp::warp_reduce(thirds, value as u32, Max));
        } else {
            put(output, 14, 12, 0);
            put(output, 14, 13, 0);
        }
    }
}

/// [`reduce`] by shuffles, or by `redux.sync` where the GPU generation has it.
///
/// # Safety
/// That of [`reduce`].
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
#[kernel]
pub unsafe fn reductions_by_shuffles(output: *mut u32) {
    // SAFETY: the same contract.
    unsafe { reduce(output) };
}

/// [`reduce`] by `redux.sync`.
///
/// # Safety
/// That of [`reduce`].
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#[kernel]
pub unsafe fn reductions(output: *mut u32) {
    // SAFETY: the same contract.
    unsafe { reduce(output) };
}

/// Matches of 32 and 64 bits: the lanes with the same value, and whether all have it. 6 columns a
/// thread.
///
/// # Safety
/// Blocks of whole warps; `output` has 6 elements for each thread of the grid.
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
#[kernel]
pub unsafe fn matches(output: *mut u32) {
    let lane = warp::lane_id();
    let all = warp::FULL_MASK;
    let value = |x: Option<u32>| x.unwrap_or(7);
    // SAFETY: every lane executes this.
    unsafe {
        put(
            output,
            6,
            0,
            warp::warp_match_any(all, u64::from(lane / 8) << 40),
        );
        put(output, 6, 1, warp::warp_match_any(all, (lane % 2) as f32));
        put(output, 6, 2, value(warp::warp_match_all(all, 5_u32)));
        put(output, 6, 3, value(warp::warp_match_all(all, lane / 31)));
        put(output, 6, 4, value(warp::warp_match_all(all, 0.5_f64)));
        put(
            output,
            6,
            5,
            value(warp::warp_match_all(all, i64::from(lane) << 33)),
        );
    }
}

/// Shuffles of 8, 16 and 128 bits from the lane opposite. 6 columns a thread.
///
/// # Safety
/// Blocks of whole warps; `output` has 6 elements for each thread of the grid.
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
#[kernel]
pub unsafe fn shuffles_of_widths(output: *mut u32) {
    let lane = warp::lane_id();
    let all = warp::FULL_MASK;
    // SAFETY: every lane executes this.
    unsafe {
        let (byte, _) = warp::warp_shuffle_xor(all, lane as u8 + 200, 31, 32);
        let (signed, _) = warp::warp_shuffle_xor(all, -(lane as i8), 31, 32);
        let (short, _) = warp::warp_shuffle_xor(all, lane as u16 * 1000, 31, 32);
        let (short_signed, _) = warp::warp_shuffle_xor(all, -(lane as i16), 31, 32);
        let (wide, _) = warp::warp_shuffle_xor(all, u128::from(lane) << 90 | 3, 31, 32);
        let (wide_signed, in_range) = warp::warp_shuffle_down(all, -i128::from(lane), 1, 32);
        put(output, 6, 0, u32::from(byte));
        put(output, 6, 1, i32::from(signed) as u32);
        put(output, 6, 2, u32::from(short));
        put(output, 6, 3, i32::from(short_signed) as u32);
        put(output, 6, 4, (wide >> 88) as u32 | wide as u32);
        put(output, 6, 5, wide_signed as u32 ^ u32::from(in_range) << 31);
    }
}

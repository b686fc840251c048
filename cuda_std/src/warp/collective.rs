//! Reductions and scans of a whole warp, by shuffles, for values and operations of any kind.

use super::{
    FULL_MASK, ShuffledWord, WARP_SIZE, WarpShuffleValue, lane_id, warp_shuffle_up,
    warp_shuffle_xor,
};

/// Several values that move together, one after the other.
impl<T: WarpShuffleValue, const N: usize> WarpShuffleValue for [T; N] {
    #[inline(always)]
    fn shuffle_by(self, shuffle: impl Fn(i32) -> ShuffledWord) -> (Self, bool) {
        let (mut moved, mut in_range) = (self, true);
        for i in 0..N {
            (moved[i], in_range) = self[i].shuffle_by(&shuffle);
        }
        (moved, in_range)
    }
}

/// The values of all 32 lanes, combined by `combine` in five butterfly shuffles; every lane gets
/// the result.
///
/// Lane i is combined with lane i XOR 16 first, then XOR 8, 4, 2 and 1. So an associative and
/// commutative `combine` gives the same bits in all lanes, for floats too: their addition commutes,
/// and all lanes add in the same tree.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn warp_reduce_by<T: WarpShuffleValue>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let (mut value, mut distance) = (value, WARP_SIZE / 2);
    while distance > 0 {
        // SAFETY: the contract says that all lanes execute it.
        let (other, _) = unsafe { warp_shuffle_xor(FULL_MASK, value, distance, WARP_SIZE) };
        value = combine(value, other);
        distance /= 2;
    }
    value
}

/// The inclusive scan of the values of all 32 lanes by an associative `combine`, in five steps
/// (Hillis and Steele, "Data parallel algorithms", 1986): lane i gets the values of lanes 0 to i
/// combined, in the order of the lanes.
///
/// # Safety
/// All 32 lanes of the warp execute it together.
#[inline(always)]
pub unsafe fn warp_scan_by<T: WarpShuffleValue>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let (mut value, mut distance) = (value, 1);
    while distance < WARP_SIZE {
        // SAFETY: the contract says that all lanes execute it.
        let (before, _) = unsafe { warp_shuffle_up(FULL_MASK, value, distance, WARP_SIZE) };
        if lane_id() >= distance {
            value = combine(before, value);
        }
        distance *= 2;
    }
    value
}

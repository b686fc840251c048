//! What the families beside the products share: a reduction over a block, and loads of four
//! elements that stop at the end of an array.

use cuda_std::prelude::*;
use cuda_std::vector::Vector;
use cuda_std::warp::{self, WarpShuffleValue};

/// Lanes of a warp.
pub const WARP: usize = warp::WARP_SIZE as usize;

/// Elements of a 128-bit load of 32-bit elements.
pub const VECTOR: usize = 4;

/// The number of the warp in its block, whose threads are in one dimension.
#[inline(always)]
pub fn warp_index() -> usize {
    thread::thread_idx_x() as usize / WARP
}

/// One value of each thread of a block of `WARPS` warps, combined; every thread gets the result.
///
/// Each warp combines its values by shuffles and stores one. After a barrier every warp combines
/// those of all warps, so that no second barrier is needed to hand out the result.
///
/// # Safety
/// All threads of the block execute it together, and not in a loop: each place in the source has
/// its own shared memory, which it writes once.
// ANCHOR: block_reduce
#[inline(always)]
pub unsafe fn block_reduce<T: WarpShuffleValue, const WARPS: usize>(
    value: T,
    neutral: T,
    combine: impl Fn(T, T) -> T,
) -> T {
    // SAFETY: the contract.
    unsafe { block_reduce_of::<T, WARPS>(value, neutral, combine, WARPS) }
}

/// As [`block_reduce`], of a block of `warps` warps, which the launch decides: at most `WARPS`.
///
/// # Safety
/// As for [`block_reduce`]; the block has `warps` warps.
#[inline(always)]
pub unsafe fn block_reduce_of<T: WarpShuffleValue, const WARPS: usize>(
    value: T,
    neutral: T,
    combine: impl Fn(T, T) -> T,
    warps: usize,
) -> T {
    const { assert!(WARPS <= WARP, "one warp combines the values of all warps") };
    let of_warps = shared_array![T; WARPS];
    let lane = warp::lane_id() as usize;
    // SAFETY: all threads are here, by the contract. Each warp writes its own element, and elements
    // are read after the barrier.
    unsafe {
        let of_warp = warp::warp_reduce_by(value, &combine);
        if lane == 0 {
            *of_warps.add(warp_index()) = of_warp;
        }
        thread::sync_threads();
        let one = if lane < warps {
            *of_warps.add(lane)
        } else {
            neutral
        };
        warp::warp_reduce_by(one, &combine)
    }
}
// ANCHOR_END: block_reduce

/// Four elements from `from` on in one access, with `fill` for those behind the end.
///
/// # Safety
/// `from` is a multiple of four, and the array is aligned to 16 bytes.
// ANCHOR: load_or
#[inline(always)]
pub unsafe fn load_or<V: Vector<Array = [T; VECTOR], Element = T>, T: Copy>(
    array: &[T],
    from: usize,
    fill: T,
) -> [T; VECTOR] {
    if from + VECTOR <= array.len() {
        // SAFETY: all four are inside of the array, which is aligned.
        return unsafe { V::load(array.as_ptr().add(from)) };
    }
    let mut elements = [fill; VECTOR];
    for i in 0..VECTOR {
        if from + i < array.len() {
            // SAFETY: the test.
            elements[i] = unsafe { *array.get_unchecked(from + i) };
        }
    }
    elements
}
// ANCHOR_END: load_or

/// Stores the first of four elements, as many as lie before `len`, in one access where all do.
///
/// # Safety
/// `array` has `len` elements, none of which another thread accesses, and is aligned to 16 bytes;
/// `to` is a multiple of four.
#[inline(always)]
pub unsafe fn store_within<V: Vector<Array = [T; VECTOR], Element = T>, T: Copy>(
    array: *mut T,
    len: usize,
    to: usize,
    elements: [T; VECTOR],
) {
    // SAFETY: the tests say that the elements are inside of the array.
    unsafe {
        if to + VECTOR <= len {
            V::store(array.add(to), elements);
        } else {
            for i in 0..VECTOR {
                if to + i < len {
                    *array.add(to + i) = elements[i];
                }
            }
        }
    }
}

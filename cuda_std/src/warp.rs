//! Operations among the 32 lanes of a warp.
//!
//! The synchronising ones take a mask with one bit for each lane that takes part (PTX ISA,
//! "shfl.sync", "vote.sync", "match.sync"): every lane named in it that has not exited must execute
//! the same operation with the same mask, and the executing lane must be named in it. Otherwise the
//! behaviour is undefined.

use crate::nvvm::{self as intrinsics, Shuffled};

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// The mask that names every lane of a warp.
pub const FULL_MASK: u32 = u32::MAX;

/// Index of the thread in its warp, 0 to 31 (`%laneid`).
#[inline(always)]
pub fn lane_id() -> u32 {
    // SAFETY: reading a special register has no effect and no precondition.
    unsafe { intrinsics::laneid() }
}

/// The lanes that execute this instruction together (`activemask`).
#[inline(always)]
pub fn activemask() -> u32 {
    // SAFETY: activemask has no precondition.
    unsafe { intrinsics::activemask() }
}

/// Waits for the lanes of `mask`; orders their memory accesses (`bar.warp.sync`).
///
/// # Safety
/// See the [module](self): the mask names the lanes that execute this.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { intrinsics::bar_warp_sync(mask) }
}

/// A value that shuffles can move: of 8 to 128 bits.
pub trait WarpShuffleValue: Copy {
    /// Moves the value by `shuffle`, 32 bits at a time.
    #[doc(hidden)]
    fn shuffle_by(self, shuffle: impl Fn(i32) -> ShuffledWord) -> (Self, bool);
}

/// A moved word, and whether its source lane was in the sub-warp.
#[doc(hidden)]
pub type ShuffledWord = (i32, bool);

macro_rules! shuffle_values {
    ($($ty:ty: $bits:ty, $to:expr, $from:expr;)*) => {
        $(
            impl WarpShuffleValue for $ty {
                #[inline(always)]
                fn shuffle_by(self, shuffle: impl Fn(i32) -> ShuffledWord) -> (Self, bool) {
                    let bits: $bits = $to(self);
                    let (moved, in_range) = <$bits as Words>::map(bits, shuffle);
                    ($from(moved), in_range)
                }
            }
        )*
    };
}

/// Bit patterns as the 32-bit words that the shuffle instruction moves.
trait Words: Sized {
    fn map(self, word: impl Fn(i32) -> ShuffledWord) -> (Self, bool);
}

impl Words for u32 {
    #[inline(always)]
    fn map(self, word: impl Fn(i32) -> ShuffledWord) -> (Self, bool) {
        let (value, in_range) = word(self as i32);
        (value as u32, in_range)
    }
}

impl Words for u64 {
    #[inline(always)]
    fn map(self, word: impl Fn(i32) -> ShuffledWord) -> (Self, bool) {
        let (low, in_range) = word(self as i32);
        let (high, _) = word((self >> 32) as i32);
        ((high as u32 as u64) << 32 | low as u32 as u64, in_range)
    }
}

shuffle_values! {
    u32: u32, |x| x, |x| x;
    i32: u32, |x| x as u32, |x| x as i32;
    f32: u32, f32::to_bits, f32::from_bits;
    u64: u64, |x| x, |x| x;
    i64: u64, |x| x as u64, |x| x as i64;
    f64: u64, f64::to_bits, f64::from_bits;
}

/// The clamp operand of `shfl.sync`: sub-warps of `width` lanes, a power of two up to 32 (PTX ISA,
/// "shfl.sync", operand c). Its low five bits are the last lane of a sub-warp for down, idx and
/// bfly, and 0 for up; bits 8 to 12 are the mask that selects the sub-warp.
const fn clamp(width: u32, last: u32) -> u32 {
    ((WARP_SIZE - width) << 8) | last
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($operand:ident) = $intrinsic:ident, $last:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// `width` splits the warp into sub-warps of that many lanes, a power of two up to 32.
            ///
            /// # Safety
            /// See the [module](self): `mask` names the lanes that execute this.
            #[inline(always)]
            pub unsafe fn $name<T: WarpShuffleValue>(
                mask: u32,
                value: T,
                $operand: u32,
                width: u32,
            ) -> (T, bool) {
                // SAFETY: the contract says that all lanes of the mask execute it.
                value.shuffle_by(|word| unsafe {
                    let Shuffled { value, in_range } =
                        intrinsics::$intrinsic(mask, word, $operand, clamp(width, $last));
                    (value, in_range)
                })
            }
        )*
    };
}

shuffles! {
    /// The value of lane `index`, and whether that lane is in the sub-warp (`shfl.sync.idx`).
    warp_shuffle_idx(index) = shfl_idx, 31;
    /// The value of the lane `delta` below this one, and whether there is one (`shfl.sync.up`).
    warp_shuffle_up(delta) = shfl_up, 0;
    /// The value of the lane `delta` above this one, and whether there is one (`shfl.sync.down`).
    warp_shuffle_down(delta) = shfl_down, 31;
    /// The value of the lane whose index is this one's XOR `lane_mask`, and whether that lane is in
    /// the sub-warp (`shfl.sync.bfly`).
    warp_shuffle_xor(lane_mask) = shfl_bfly, 31;
}

/// Whether `predicate` holds in every lane of `mask` (`vote.sync.all`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { intrinsics::vote_all(mask, predicate) }
}

/// Whether `predicate` holds in any lane of `mask` (`vote.sync.any`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { intrinsics::vote_any(mask, predicate) }
}

/// Whether `predicate` is the same in every lane of `mask` (`vote.sync.uni`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_vote_eq(mask: u32, predicate: bool) -> bool {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { intrinsics::vote_uni(mask, predicate) }
}

/// The lanes of `mask` in which `predicate` holds, one bit each (`vote.sync.ballot`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { intrinsics::vote_ballot(mask, predicate) }
}

/// A value that lanes compare bit by bit: 32 or 64 bits.
pub trait WarpMatchValue: Copy {
    /// The lanes of `mask` whose value has the same bits.
    #[doc(hidden)]
    unsafe fn match_any(mask: u32, value: Self) -> u32;
    /// `mask` where all of its lanes' values have the same bits.
    #[doc(hidden)]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

macro_rules! match_values {
    ($($ty:ty: $any:ident, $all:ident, $to:expr;)*) => {
        $(
            impl WarpMatchValue for $ty {
                #[inline(always)]
                unsafe fn match_any(mask: u32, value: Self) -> u32 {
                    // SAFETY: the contract says that all lanes of the mask execute it.
                    unsafe { intrinsics::$any(mask, $to(value)) }
                }

                #[inline(always)]
                unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
                    // SAFETY: the contract says that all lanes of the mask execute it.
                    let matched = unsafe { intrinsics::$all(mask, $to(value)) };
                    matched.all.then_some(matched.lanes)
                }
            }
        )*
    };
}

match_values! {
    u32: match_any, match_all, |x| x;
    i32: match_any, match_all, |x| x as u32;
    f32: match_any, match_all, f32::to_bits;
    u64: match_any_64, match_all_64, |x| x;
    i64: match_any_64, match_all_64, |x| x as u64;
    f64: match_any_64, match_all_64, f64::to_bits;
}

/// The lanes of `mask` whose `value` has the same bits as this lane's, one bit each
/// (`match.any.sync`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { T::match_any(mask, value) }
}

/// `mask` where the `value`s of all of its lanes have the same bits (`match.all.sync`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { T::match_all(mask, value) }
}

/// What [`warp_reduce`] combines values by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, wrapping around.
    Add,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The bits that all values have.
    And,
    /// The bits that any value has.
    Or,
    /// The bits that an odd number of values has.
    Xor,
}

/// A value that [`warp_reduce`] takes.
pub trait WarpReduceValue: Copy {
    /// The values of the lanes of `mask`, combined.
    #[doc(hidden)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

/// The `value`s of the lanes of `mask`, combined; every one of these lanes gets the result.
///
/// `redux.sync` from compute capability 8.0 on; before, shuffles: five for a whole warp, else one
/// for each lane.
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { T::reduce(mask, value, op) }
}

macro_rules! reduce_values {
    ($($ty:ty: $min:ident, $max:ident;)*) => {
        $(
            impl WarpReduceValue for $ty {
                #[inline(always)]
                #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
                unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                    let bits = value as u32;
                    // SAFETY: the contract says that all lanes of the mask execute it.
                    unsafe {
                        match op {
                            WarpReductionOp::Add => intrinsics::redux_add(bits, mask) as Self,
                            WarpReductionOp::Min => intrinsics::$min(value, mask),
                            WarpReductionOp::Max => intrinsics::$max(value, mask),
                            WarpReductionOp::And => intrinsics::redux_and(bits, mask) as Self,
                            WarpReductionOp::Or => intrinsics::redux_or(bits, mask) as Self,
                            WarpReductionOp::Xor => intrinsics::redux_xor(bits, mask) as Self,
                        }
                    }
                }

                #[inline(always)]
                #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
                unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                    let combine = |a: Self, b: Self| match op {
                        WarpReductionOp::Add => a.wrapping_add(b),
                        WarpReductionOp::Min => a.min(b),
                        WarpReductionOp::Max => a.max(b),
                        WarpReductionOp::And => a & b,
                        WarpReductionOp::Or => a | b,
                        WarpReductionOp::Xor => a ^ b,
                    };
                    if mask == FULL_MASK {
                        // No loop: LLVM would keep it.
                        let step = |reduced: Self, distance: u32| {
                            // SAFETY: the contract says that all lanes execute it.
                            let (other, _) =
                                unsafe { warp_shuffle_xor(mask, reduced, distance, WARP_SIZE) };
                            combine(reduced, other)
                        };
                        return step(step(step(step(step(value, 16), 8), 4), 2), 1);
                    }
                    let (mut reduced, mut left) = (None, mask);
                    while left != 0 {
                        let lane = left.trailing_zeros();
                        // SAFETY: the contract says that all lanes of the mask execute it; `lane`
                        // is one of them.
                        let (other, _) = unsafe { warp_shuffle_idx(mask, value, lane, WARP_SIZE) };
                        reduced = Some(match reduced {
                            None => other,
                            Some(reduced) => combine(reduced, other),
                        });
                        left &= left - 1;
                    }
                    reduced.unwrap_or(value)
                }
            }
        )*
    };
}

reduce_values! {
    u32: redux_min_u32, redux_max_u32;
    i32: redux_min_i32, redux_max_i32;
}

impl Words for u128 {
    #[inline(always)]
    fn map(self, word: impl Fn(i32) -> ShuffledWord) -> (Self, bool) {
        let (low, in_range) = (self as u64).map(&word);
        let (high, _) = ((self >> 64) as u64).map(word);
        (u128::from(high) << 64 | u128::from(low), in_range)
    }
}

// Of fewer than 32 bits, the upper ones of the word are moved along.
shuffle_values! {
    u8: u32, u32::from, |x| x as u8;
    i8: u32, |x| x as u32, |x| x as i8;
    u16: u32, u32::from, |x| x as u16;
    i16: u32, |x| x as u32, |x| x as i16;
    crate::float16::f16: u32, |x: Self| u32::from(x.0), |x| Self(x as u16);
    crate::float16::bf16: u32, |x: Self| u32::from(x.0), |x| Self(x as u16);
    u128: u128, |x| x, |x| x;
    i128: u128, |x| x as u128, |x| x as i128;
}

#[cfg(feature = "half")]
shuffle_values! {
    half::f16: u32, |x: Self| u32::from(x.to_bits()), |x| Self::from_bits(x as u16);
    half::bf16: u32, |x: Self| u32::from(x.to_bits()), |x| Self::from_bits(x as u16);
}

mod collective;

pub use collective::{warp_reduce_by, warp_scan_by};

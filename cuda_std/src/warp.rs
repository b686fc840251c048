//! Operations among the 32 lanes of a warp.
//!
//! The synchronising ones take a mask with one bit for each lane that takes part (PTX ISA,
//! "shfl.sync", "vote.sync", "match.sync"): every lane named in it that has not exited must execute
//! the same operation with the same mask, and the executing lane must be named in it. Otherwise the
//! behaviour is undefined.

use crate::intrinsics::{self, Shuffled};

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

/// A value that shuffles can move: 32 or 64 bits.
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

/// The lanes of `mask` whose `value` is this lane's, one bit each (`match.any.sync.b32`).
///
/// # Safety
/// See the [module](self): `mask` names the lanes that execute this.
#[inline(always)]
pub unsafe fn warp_match_any(mask: u32, value: u32) -> u32 {
    // SAFETY: the contract says that all lanes of the mask execute it.
    unsafe { intrinsics::match_any(mask, value) }
}

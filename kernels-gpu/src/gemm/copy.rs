//! Asynchronous copies of an operand's tiles from global to shared memory.
//!
//! In shared memory a tile of either operand looks the same: [`BK`](TileLoader) k-rows, each of
//! `BMN` elements along m or n, so that a thread finds its operands side by side. `BMN` is BM for A
//! and BN for B. In global memory there are three [layouts](layout):
//!
//! - K-major: the copies transpose, an element at a time;
//! - MN-major, with rows that start at multiples of 16 bytes: the copies are of vectors;
//! - MN-major, with rows that start at any address: the copies are of elements.
//!
//! Each is an instance of its own: a choice at run time costs registers that the accumulators need.
//!
//! Only the first k-tile is guarded: it takes what k has beyond a multiple of `BK`, and the rest of
//! it is zeros. So every later k-tile is a full one.
//!
//! At the edges of m and n, threads copy other elements once more instead of those outside, and
//! what is computed from them is not stored. They must not be one element for all threads of a
//! warp. An asynchronous copy of one word to 32 addresses takes as long as 32 copies: the blocks at
//! the edge, for which the whole grid waits, took 12 % longer.

use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

/// An element that asynchronous copies transfer.
pub trait CopyElement: Copy {
    /// Elements of a 16-byte vector.
    const VECTOR: usize = 16 / size_of::<Self>();

    /// Starts to copy one element, or nothing.
    ///
    /// # Safety
    /// As for [`async_copy::copy_4_if`].
    unsafe fn copy_if(to: SharedAddress, from: *const Self, enabled: bool);

    /// Starts to copy one element, or writes zero where not `enabled`.
    ///
    /// # Safety
    /// As for [`async_copy::copy_4_or_zero`].
    unsafe fn copy_or_zero(to: SharedAddress, from: *const Self, enabled: bool);
}

macro_rules! copy_elements {
    ($($element:ty, $copy_if:ident, $copy_or_zero:ident;)*) => {
        $(impl CopyElement for $element {
            #[inline(always)]
            unsafe fn copy_if(to: SharedAddress, from: *const Self, enabled: bool) {
                // SAFETY: addresses are as the contract of this function says.
                unsafe { async_copy::$copy_if(to, from, enabled) }
            }

            #[inline(always)]
            unsafe fn copy_or_zero(to: SharedAddress, from: *const Self, enabled: bool) {
                // SAFETY: addresses are as the contract of this function says.
                unsafe { async_copy::$copy_or_zero(to, from, enabled) }
            }
        })*
    };
}

copy_elements! {
    f32, copy_4_if, copy_4_or_zero;
    f64, copy_8_if, copy_8_or_zero;
}

/// The layout of an operand in global memory, as a constant of a kernel.
pub mod layout {
    /// Rows, as they are stored, extend along k.
    pub const K_MAJOR: u32 = 0;
    /// Rows extend along m or n, and consist of whole vectors: the leading dimension and the extent
    /// are multiples of the number of elements in 16 bytes, the address of 16 bytes.
    pub const MN_MAJOR: u32 = 1;
    /// Rows extend along m or n, and start at any address.
    pub const MN_MAJOR_UNALIGNED: u32 = 2;
    /// The layout of an operand that is K-major, or else MN-major with whole vectors.
    pub const fn of(k_major: bool) -> u32 {
        match k_major {
            true => K_MAJOR,
            false => MN_MAJOR,
        }
    }

    /// Any of these, given at run time. Not for a [`TileLoader`](super::TileLoader).
    pub const ANY: u32 = 3;

    /// Rows extend along k, and start at multiples of 16 bytes. Their extent is any. Not for a
    /// [`TileLoader`](super::TileLoader).
    pub const K_MAJOR_VECTORS: u32 = 4;
    /// Rows extend along m or n, and start at multiples of 16 bytes. Their extent is any. Not for a
    /// [`TileLoader`](super::TileLoader).
    pub const MN_MAJOR_VECTORS: u32 = 5;
}

/// A panel of an operand: `BMN` rows of A, or columns of B, from `first` on, and all of k from
/// `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Panel<T> {
    /// The matrix's first element.
    pub matrix: *const T,
    /// The leading dimension: distance of two rows as they are stored, in elements.
    pub leading: u32,
    /// Extent of the matrix along m or n.
    pub extent: u32,
    /// First row or column of the panel.
    pub first: u32,
    /// First element along k.
    pub start: u32,
}

/// The most copies of a thread that need an offset of their own.
const MAX_OFFSETS: usize = 16;

/// Elements between the end of a k-row and the start of the next in shared memory. K-rows then
/// start 16 or 32 bytes apart in the banks, which keeps transposing copies and the loads of MMA
/// fragments free of conflicts.
pub const PADDING: usize = 4;

/// What an element's index along m or n is changed by, exclusive or, in k-row `k` of a tile in
/// shared memory, where `k_threads` threads copy a K-major row. Four k-rows of f64 fill the banks
/// with every other vector of 16 bytes. The next four have the others, so that 16 threads along k
/// store to different banks.
pub const fn swizzle<T: CopyElement>(k_threads: usize, k: usize) -> usize {
    if k_threads > 8 {
        k / 4 % 2 * T::VECTOR
    } else {
        0
    }
}

/// Copies tiles of `BK` × `BMN` elements, by `THREADS` threads. Of a K-major operand,
/// `THREADS_ALONG_K` neighbouring threads copy neighbours along k: whole sectors of a few rows.
/// Each line that a warp copies from takes time of the L1 cache; the offsets of more rows take
/// registers.
pub struct TileLoader<
    T,
    const LAYOUT: u32,
    const BMN: usize,
    const BK: usize,
    const THREADS: usize,
    const THREADS_ALONG_K: usize,
> {
    /// This thread's first element of the next k-tile.
    from: *const T,
    /// Elements from one k-tile to the next.
    advance: u32,
    /// Offsets of this thread's copies, from the first one on, in elements.
    offsets: [u32; MAX_OFFSETS],
    /// Bytes from the start of a tile in shared memory to this thread's first element.
    to: u32,
}

/// A thread's first element in a tile.
struct Position {
    k: u32,
    i: u32,
}

impl<
    T: CopyElement,
    const LAYOUT: u32,
    const BMN: usize,
    const BK: usize,
    const THREADS: usize,
    const THREADS_ALONG_K: usize,
> TileLoader<T, LAYOUT, BMN, BK, THREADS, THREADS_ALONG_K>
{
    /// Distance of two k-rows of a tile in shared memory.
    pub const PITCH: usize = BMN + PADDING;

    /// Bytes of a tile in shared memory.
    pub const BYTES: usize = BK * Self::PITCH * size_of::<T>();

    /// Rows or columns of a K-major operand that the block copies in one pass.
    const PASS_ROWS: usize = THREADS / THREADS_ALONG_K;

    /// Vectors of a k-row, of which a thread copies one at a time.
    const ROW_VECTORS: usize = BMN / T::VECTOR;

    /// Elements of a copy.
    const COPY_ELEMENTS: usize = if LAYOUT == layout::MN_MAJOR {
        T::VECTOR
    } else {
        1
    };

    /// The loader of this thread.
    #[inline(always)]
    pub fn new(panel: &Panel<T>) -> Self {
        const {
            assert!(LAYOUT <= layout::MN_MAJOR_UNALIGNED);
            assert!(
                BK.is_multiple_of(THREADS_ALONG_K)
                    && BMN.is_multiple_of(Self::PASS_ROWS)
                    && BMN / Self::PASS_ROWS <= MAX_OFFSETS
            );
            assert!(
                THREADS.is_multiple_of(Self::ROW_VECTORS)
                    && (BK * Self::ROW_VECTORS).is_multiple_of(THREADS)
            );
            assert!(THREADS.is_multiple_of(BMN) || BMN.is_multiple_of(THREADS));
            // For the swizzle: see `start`.
            assert!(Self::PASS_ROWS.is_multiple_of(4) && BMN.is_multiple_of(4));
            assert!(
                (Self::PITCH * size_of::<T>()).is_multiple_of(32)
                    || swizzle::<T>(THREADS_ALONG_K, 4) == 0
            );
        }
        let Position { k, i } = Self::position();
        let extent = panel.extent;
        let index = panel.first + i;
        // Beyond the edge, a thread begins at the first elements of the matrix, as far as it has
        // them. Vectors stay whole, since the extent is then of whole ones.
        let first = if index < extent {
            index
        } else {
            (index - extent).min(extent - Self::COPY_ELEMENTS as u32)
        };
        let first = first as usize;
        // A later copy of this thread that would be beyond the edge takes the first one's offset.
        let inside = |distance: usize| {
            if index + (distance as u32) < extent {
                distance
            } else {
                0
            }
        };
        let leading = panel.leading as usize;
        let k_index = (panel.start + k) as usize;
        let mut offsets = [0; MAX_OFFSETS];
        let (start, advance) = match LAYOUT {
            layout::K_MAJOR => {
                for pass in 0..BMN / Self::PASS_ROWS {
                    offsets[pass] = (inside(pass * Self::PASS_ROWS) * leading) as u32;
                }
                (first * leading + k_index, BK)
            }
            layout::MN_MAJOR => {
                offsets[0] = (THREADS / Self::ROW_VECTORS * leading) as u32;
                (k_index * leading + first, BK * leading)
            }
            _ => {
                // A k-row takes several passes where the block has fewer threads than it has
                // elements. The other offsets are those along the k-row.
                offsets[0] = (THREADS.div_ceil(BMN) * leading) as u32;
                for segment in 1..BMN.div_ceil(THREADS) {
                    offsets[segment] = inside(segment * THREADS) as u32;
                }
                (k_index * leading + first, BK * leading)
            }
        };
        TileLoader {
            from: panel.matrix.wrapping_add(start),
            advance: advance as u32,
            offsets,
            to: (k * Self::PITCH as u32 + (i ^ swizzle::<T>(THREADS_ALONG_K, k as usize) as u32))
                * size_of::<T>() as u32,
        }
    }

    #[inline(always)]
    fn position() -> Position {
        let t = thread::thread_idx_x();
        let (neighbours, vectors) = (THREADS_ALONG_K as u32, Self::ROW_VECTORS as u32);
        match LAYOUT {
            layout::K_MAJOR => Position {
                k: t % neighbours,
                i: t / neighbours,
            },
            layout::MN_MAJOR => Position {
                k: t / vectors,
                i: t % vectors * T::VECTOR as u32,
            },
            _ => Position {
                k: t / BMN as u32,
                i: t % BMN as u32,
            },
        }
    }

    /// Starts to copy the next k-tile, a full one, to `stage`; where not `enabled`, copies nothing.
    ///
    /// # Safety
    /// Where `enabled`, the operand is readable, and has `BK` k-rows from the next k-tile on. No
    /// other access touches the [`BYTES`](Self::BYTES) bytes from `stage` on until the copies are
    /// complete.
    #[inline(always)]
    pub unsafe fn copy_if(&mut self, stage: SharedAddress, enabled: bool) {
        // SAFETY: operand and stage are as the contract of this function says; `BK` k-rows exist.
        unsafe { self.start::<false>(stage, BK as u32, enabled) };
        self.from = self.from.wrapping_add(self.advance as usize);
    }

    /// Starts to copy a k-tile of `k_extent` ≤ `BK` k-rows, and writes zeros to the rest.
    ///
    /// # Safety
    /// As for [`copy_if`](Self::copy_if), where enabled, for `k_extent` k-rows.
    #[inline(always)]
    pub unsafe fn copy_partial(&mut self, stage: SharedAddress, k_extent: u32) {
        // SAFETY: operand and stage are as the contract of this function says; `k_extent` k-rows
        // exist.
        unsafe { self.start::<true>(stage, k_extent, true) };
        let per_k = self.advance as usize / BK;
        self.from = self.from.wrapping_add(k_extent as usize * per_k);
    }

    /// Starts to copy a k-tile, without a step to the next one.
    ///
    /// # Safety
    /// As for [`copy_partial`](Self::copy_partial) where `GUARDED`, otherwise as for
    /// [`copy_if`](Self::copy_if).
    #[inline(always)]
    unsafe fn start<const GUARDED: bool>(
        &self,
        stage: SharedAddress,
        k_extent: u32,
        enabled: bool,
    ) {
        // A thread's first k-row and `k` have no bit of their indices in common, and those of `i`
        // lie above the swizzle's.
        let to = |k: usize, i: usize| {
            let first = self.to ^ (swizzle::<T>(THREADS_ALONG_K, k) * size_of::<T>()) as u32;
            stage
                .at(first)
                .at(((k * Self::PITCH + i) * size_of::<T>()) as u32)
        };
        let exists = |k: usize| Self::position().k + (k as u32) < k_extent;
        // SAFETY: k-rows and passes stay inside of the stage by the assertions of `new`. Its
        // offsets keep sources inside of the operand along m or n; k-rows beyond `k_extent` are not
        // read.
        unsafe {
            match LAYOUT {
                layout::K_MAJOR => {
                    for pass in 0..BMN / Self::PASS_ROWS {
                        for k in (0..BK).step_by(THREADS_ALONG_K) {
                            let from = self.from.wrapping_add(self.offsets[pass] as usize + k);
                            if GUARDED {
                                T::copy_or_zero(to(k, pass * Self::PASS_ROWS), from, exists(k));
                            } else {
                                T::copy_if(to(k, pass * Self::PASS_ROWS), from, enabled);
                            }
                        }
                    }
                }
                layout::MN_MAJOR => {
                    for pass in 0..BK * Self::ROW_VECTORS / THREADS {
                        let k = pass * (THREADS / Self::ROW_VECTORS);
                        let from = self.from.wrapping_add(pass * self.offsets[0] as usize);
                        if GUARDED {
                            async_copy::copy_16_or_zero(to(k, 0), from, exists(k));
                        } else {
                            async_copy::copy_16_if(to(k, 0), from, enabled);
                        }
                    }
                }
                _ => {
                    let passes = BMN.div_ceil(THREADS);
                    for pass in 0..BK * BMN / THREADS {
                        let (row, segment) = (pass / passes, pass % passes);
                        let k = row * THREADS.div_ceil(BMN);
                        let along_row = if segment > 0 {
                            self.offsets[segment] as usize
                        } else {
                            0
                        };
                        let from = self
                            .from
                            .wrapping_add(row * self.offsets[0] as usize + along_row);
                        if GUARDED {
                            T::copy_or_zero(to(k, segment * THREADS), from, exists(k));
                        } else {
                            T::copy_if(to(k, segment * THREADS), from, enabled);
                        }
                    }
                }
            }
        }
    }
}

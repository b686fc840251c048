//! One operand's way from global into shared memory, by asynchronous copies.
//!
//! In shared memory a tile of either operand looks the same: [`BK`](TileLoader) rows, one for each k, of `BMN` elements along
//! m or n, so that a thread finds what it multiplies side by side. In global memory there are three cases: rows along k
//! (the copies then transpose, an element at a time), rows along m or n that start at multiples of 16 bytes (vectors), and
//! such rows that start anywhere (elements). Each is an instance of its own: a choice at run
//! time costs registers that the accumulators need.
//!
//! Only the first tile is guarded: it takes what k has beyond a multiple of `BK` and fills up with zeros, so that every
//! later tile is whole. At the edges of m and n, threads copy something else again instead of what is outside; what is computed
//! from it is not stored. It must not be the same element for all threads of a warp: an asynchronous copy of one word to 32
//! places takes as long as 32 copies, and the blocks at the edge, for which the whole grid waits, took 12 % longer.

use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

/// An element that asynchronous copies move.
pub trait CopyElement: Copy {
    /// Elements of 16 bytes.
    const VECTOR: usize = 16 / size_of::<Self>();

    /// Starts to copy one element, or nothing.
    ///
    /// # Safety
    /// As for [`async_copy::copy_4_if`].
    unsafe fn copy_if(to: SharedAddress, from: *const Self, enabled: bool);

    /// The same, or zero.
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
                // SAFETY: passed on to the caller.
                unsafe { async_copy::$copy_if(to, from, enabled) }
            }

            #[inline(always)]
            unsafe fn copy_or_zero(to: SharedAddress, from: *const Self, enabled: bool) {
                // SAFETY: passed on to the caller.
                unsafe { async_copy::$copy_or_zero(to, from, enabled) }
            }
        })*
    };
}

copy_elements! {
    f32, copy_4_if, copy_4_or_zero;
    f64, copy_8_if, copy_8_or_zero;
}

/// How an operand lies in global memory, as a constant of a kernel.
pub mod layout {
    /// Rows along k.
    pub const K_MAJOR: u32 = 0;
    /// Rows along m or n, of whole vectors: the leading dimension and the extent are multiples of what 16 bytes hold, the
    /// address of 16.
    pub const MN_MAJOR: u32 = 1;
    /// Rows along m or n, anywhere.
    pub const MN_MAJOR_UNALIGNED: u32 = 2;
    /// Any of these, told at run time. Not for a [`TileLoader`](super::TileLoader).
    pub const ANY: u32 = 3;
}

/// A panel of an operand: `BMN` rows or columns of it from `first` on, and all of k from `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Panel<T> {
    /// First element of the matrix.
    pub matrix: *const T,
    /// Distance of two rows as they are stored.
    pub leading: u32,
    /// Extent of the matrix along m or n.
    pub extent: u32,
    /// First row or column of the panel.
    pub first: u32,
    /// First element along k.
    pub start: u32,
}

/// Most copies of a thread that need an offset of their own.
const MAX_OFFSETS: usize = 16;

/// Neighbouring elements along k that neighbouring threads copy where rows run along k: 32 or 64 bytes, whole sectors.
const THREADS_ALONG_K: usize = 8;

/// Elements between two rows of a shared tile beyond its extent: rows then start 16 or 32 bytes apart in the banks, which
/// keeps transposing copies and the loads of tensor-core fragments free of conflicts.
pub const PADDING: usize = 4;

/// Copies tiles of `BK` × `BMN` elements by `THREADS` threads.
pub struct TileLoader<T, const LAYOUT: u32, const BMN: usize, const BK: usize, const THREADS: usize>
{
    /// This thread's first element of the next tile.
    from: *const T,
    /// From one tile to the next.
    advance: u32,
    /// This thread's copies, from the first one on.
    offsets: [u32; MAX_OFFSETS],
    /// Bytes from the start of a tile in shared memory to this thread's first element.
    to: u32,
}

/// Where a thread begins in a tile.
struct Position {
    k: usize,
    i: usize,
}

impl<T: CopyElement, const LAYOUT: u32, const BMN: usize, const BK: usize, const THREADS: usize>
    TileLoader<T, LAYOUT, BMN, BK, THREADS>
{
    /// Distance of two k-rows of a shared tile.
    pub const PITCH: usize = BMN + PADDING;

    /// Bytes of a shared tile.
    pub const BYTES: usize = BK * Self::PITCH * size_of::<T>();

    /// Rows that one pass of the block copies where rows run along k.
    const ROWS: usize = THREADS / THREADS_ALONG_K;

    /// Threads, or copies, of one k-row of vectors.
    const VECTORS: usize = BMN / T::VECTOR;

    /// Elements that a copy takes.
    const PER_COPY: usize = if LAYOUT == layout::MN_MAJOR {
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
                    && BMN.is_multiple_of(Self::ROWS)
                    && BMN / Self::ROWS <= MAX_OFFSETS
            );
            assert!(
                THREADS.is_multiple_of(Self::VECTORS)
                    && (BK * Self::VECTORS).is_multiple_of(THREADS)
            );
            assert!(THREADS.is_multiple_of(BMN) || BMN.is_multiple_of(THREADS));
        }
        let Position { k, i } = Self::place();
        let extent = panel.extent as usize;
        let place = panel.first as usize + i;
        // From the other edge on, as far as there is something; vectors stay whole, since then the extent is of whole ones.
        let first = if place < extent {
            place
        } else {
            (place - extent).min(extent - Self::PER_COPY)
        };
        // A later copy of this thread that would be beyond the edge is that of the first one.
        let inside = |distance: usize| {
            if place + distance < extent {
                distance
            } else {
                0
            }
        };
        let leading = panel.leading as usize;
        let k_first = panel.start as usize + k;
        let mut offsets = [0; MAX_OFFSETS];
        let (start, advance) = match LAYOUT {
            layout::K_MAJOR => {
                for pass in 0..BMN / Self::ROWS {
                    offsets[pass] = (inside(pass * Self::ROWS) * leading) as u32;
                }
                (first * leading + k_first, BK)
            }
            layout::MN_MAJOR => {
                offsets[0] = (THREADS / Self::VECTORS * leading) as u32;
                (k_first * leading + first, BK * leading)
            }
            _ => {
                // A k-row takes several passes where the block is narrower: the other offsets are along the row.
                offsets[0] = (THREADS.div_ceil(BMN) * leading) as u32;
                for part in 1..BMN.div_ceil(THREADS) {
                    offsets[part] = inside(part * THREADS) as u32;
                }
                (k_first * leading + first, BK * leading)
            }
        };
        TileLoader {
            from: panel.matrix.wrapping_add(start),
            advance: advance as u32,
            offsets,
            to: ((k * Self::PITCH + i) * size_of::<T>()) as u32,
        }
    }

    #[inline(always)]
    fn place() -> Position {
        let t = thread::thread_idx_x() as usize;
        match LAYOUT {
            layout::K_MAJOR => Position {
                k: t % THREADS_ALONG_K,
                i: t / THREADS_ALONG_K,
            },
            layout::MN_MAJOR => Position {
                k: t / Self::VECTORS,
                i: t % Self::VECTORS * T::VECTOR,
            },
            _ => Position {
                k: t / BMN,
                i: t % BMN,
            },
        }
    }

    /// Starts to copy the next tile, which is whole, to `stage`, or, if not `enabled`, nothing.
    ///
    /// # Safety
    /// If `enabled`, the tile lies inside of the operand along k. Nobody else touches the [`BYTES`](Self::BYTES) bytes from
    /// `stage` on until the copies have arrived.
    #[inline(always)]
    pub unsafe fn copy_if(&mut self, stage: SharedAddress, enabled: bool) {
        // SAFETY: passed on to the caller.
        unsafe { self.start::<false>(stage, BK, enabled) };
        self.from = self.from.wrapping_add(self.advance as usize);
    }

    /// Starts to copy a tile of `depth` ≤ `BK` k-rows, and zeros for the rest.
    ///
    /// # Safety
    /// As for [`copy_if`](Self::copy_if).
    #[inline(always)]
    pub unsafe fn copy_partial(&mut self, stage: SharedAddress, depth: u32) {
        // SAFETY: passed on to the caller.
        unsafe { self.start::<true>(stage, depth as usize, true) };
        let per_k = self.advance as usize / BK;
        self.from = self.from.wrapping_add(depth as usize * per_k);
    }

    #[inline(always)]
    unsafe fn start<const GUARDED: bool>(&self, stage: SharedAddress, depth: usize, enabled: bool) {
        let to = |k: usize, i: usize| {
            stage
                .at(self.to)
                .at(((k * Self::PITCH + i) * size_of::<T>()) as u32)
        };
        let present = |k: usize| Self::place().k + k < depth;
        // SAFETY: all places are inside of the stage, all sources inside of the operand by the offsets, or not read.
        unsafe {
            match LAYOUT {
                layout::K_MAJOR => {
                    for pass in 0..BMN / Self::ROWS {
                        for k in (0..BK).step_by(THREADS_ALONG_K) {
                            let from = self.from.wrapping_add(self.offsets[pass] as usize + k);
                            if GUARDED {
                                T::copy_or_zero(to(k, pass * Self::ROWS), from, present(k));
                            } else {
                                T::copy_if(to(k, pass * Self::ROWS), from, enabled);
                            }
                        }
                    }
                }
                layout::MN_MAJOR => {
                    for pass in 0..BK * Self::VECTORS / THREADS {
                        let k = pass * (THREADS / Self::VECTORS);
                        let from = self.from.wrapping_add(pass * self.offsets[0] as usize);
                        if GUARDED {
                            async_copy::copy_16_or_zero(to(k, 0), from, present(k));
                        } else {
                            async_copy::copy_16_if(to(k, 0), from, enabled);
                        }
                    }
                }
                _ => {
                    let passes = BMN.div_ceil(THREADS);
                    for pass in 0..BK * BMN / THREADS {
                        let (row, part) = (pass / passes, pass % passes);
                        let k = row * THREADS.div_ceil(BMN);
                        let along = if part > 0 {
                            self.offsets[part] as usize
                        } else {
                            0
                        };
                        let from = self
                            .from
                            .wrapping_add(row * self.offsets[0] as usize + along);
                        if GUARDED {
                            T::copy_or_zero(to(k, part * THREADS), from, present(k));
                        } else {
                            T::copy_if(to(k, part * THREADS), from, enabled);
                        }
                    }
                }
            }
        }
    }
}

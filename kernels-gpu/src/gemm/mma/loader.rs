//! The copies of operands of `mma.sync` to shared memory.
//!
//! # Idea
//! Asynchronous copies bring vectors of 16 bytes, and read those at an edge in part. Rows that do
//! not begin at multiples of 16 bytes are copied as they lie in aligned vectors, from the one with
//! their first element on: see [`unaligned`].
//!
//! # Thread mapping
//! Threads side by side copy vectors side by side of a row, as it is stored.
//!
//! # Source
//! PTX ISA, "cp.async".

use super::operand::{BK_BYTES, ROW_VECTORS, TileElement, VECTOR_BYTES, k_major_offset};
use super::unaligned;
use crate::gemm::copy::layout;
use cuda_std::async_copy::{self, SharedAddress};
use cuda_std::prelude::*;

/// Whether copies of unaligned rows bring the rest of a line into the L2 cache, which the next
/// k-tiles read: 64 bytes of a row at a time are less than device memory delivers at its full rate.
/// PTX for older GPUs keeps to a version of the ISA that has no such copies.
const PREFETCHES: bool = cfg!(sm_90a);

/// Starts a copy of a vector of an unaligned row.
///
/// # Safety
/// As for [`copy_16_partial_if`](async_copy::copy_16_partial_if).
#[inline(always)]
unsafe fn copy_partial<T>(to: SharedAddress, from: *const T, bytes: u32, predicate: bool) {
    // SAFETY: the contract is that of this function.
    unsafe {
        match PREFETCHES {
            true => async_copy::copy_16_partial_of_line_if(to, from, bytes, predicate),
            false => async_copy::copy_16_partial_if(to, from, bytes, predicate),
        }
    }
}

/// The operand of a block, in global memory: `BMN` rows of A or columns of B, and some of k.
#[derive(Clone, Copy)]
pub struct Panel<T> {
    /// The matrix's first element.
    pub matrix: *const T,
    /// The leading dimension, in elements.
    pub leading: u32,
    /// Whether its rows, as they are stored, extend along k.
    pub k_major: bool,
    /// Extent of the matrix along m or n.
    pub extent: u32,
    /// First row of A, or column of B.
    pub first: u32,
    /// First element along k.
    pub start: u32,
}

impl<T> Panel<T> {
    /// The element at row or column `i` and at `k` of the panel.
    #[inline(always)]
    pub fn element(&self, i: u32, k: u32) -> *const T {
        let (i, k) = (self.first + i, self.start + k);
        let [row, column] = match self.k_major {
            true => [i, k],
            false => [k, i],
        };
        let offset = row as usize * self.leading as usize + column as usize;
        self.matrix.wrapping_add(offset)
    }

    /// Rows or columns from `i` on that the matrix has.
    #[inline(always)]
    fn left(&self, i: u32) -> u32 {
        self.extent.saturating_sub(self.first + i)
    }
}

/// Copies the k-tiles of an operand to shared memory, by `THREADS` threads.
///
/// Elements outside of the operand become zeros.
pub struct Loader<E: TileElement, const LAYOUT: u32, const BMN: usize, const THREADS: usize> {
    /// This thread's first vector of the next k-tile.
    from: *const E::Stored,
    /// Elements from one k-tile to the next.
    advance: usize,
    /// Elements from one vector of this thread to its next.
    step: u32,
    /// Of a K-major operand, and of unaligned rows: rows or columns from this thread's first on.
    /// Of an MN-major one of vectors: bytes of this thread's vectors that the operand has.
    inside: u32,
    /// Row and vector of this thread's first one in a tile.
    first: [u32; 2],
    /// Of unaligned rows.
    rows: Rows<E::Stored>,
}

/// How a thread copies rows that begin anywhere.
struct Rows<T> {
    /// Whether the operand is K-major.
    is_k_major: bool,
    /// Rows from one vector of this thread to its next.
    step: u32,
    /// Of a K-major operand: elements in the vectors of its rows from the k-tile on, with those of
    /// the shift. Of an MN-major one: rows from the k-tile on.
    left: u32,
    /// Of an MN-major operand: bytes in the first vector before the first element.
    shift: u32,
    /// The vector behind those of the thread's own row, which is there where the row has a shift.
    last: *const T,
    /// The shift of that row, or 0 where there is no such vector.
    last_shift: u32,
}

impl<E: TileElement, const LAYOUT: u32, const BMN: usize, const THREADS: usize>
    Loader<E, LAYOUT, BMN, THREADS>
{
    /// Vectors of a thread in a tile, of rows that have no shift.
    const VECTORS: usize = BMN * ROW_VECTORS / THREADS;

    /// Vectors of a row of an MN-major tile.
    const MN_VECTORS: usize = BMN / E::VECTOR;

    /// The loader of this thread, for `k_extent` elements along k.
    #[inline(always)]
    pub fn new(panel: &Panel<E::Stored>, k_extent: u32) -> Self {
        const {
            assert!(
                LAYOUT == layout::K_MAJOR_VECTORS
                    || LAYOUT == layout::MN_MAJOR_VECTORS
                    || LAYOUT == layout::ANY
            );
            assert!(THREADS.is_multiple_of(ROW_VECTORS) && BMN.is_multiple_of(THREADS / 4));
            assert!(LAYOUT == layout::K_MAJOR_VECTORS || THREADS.is_multiple_of(Self::MN_VECTORS));
            // Rows that are a multiple of a vector's elements apart have the same shift.
            assert!(
                LAYOUT != layout::ANY
                    || BMN <= THREADS
                        && E::BK <= THREADS
                        && (THREADS / Self::MN_VECTORS).is_multiple_of(E::VECTOR)
                        && (THREADS / ROW_VECTORS).is_multiple_of(E::VECTOR)
            );
            assert!(LAYOUT != layout::MN_MAJOR_VECTORS || Self::MN_VECTORS >= 8);
        }
        match LAYOUT {
            layout::K_MAJOR_VECTORS => Self::of_k_major(panel),
            layout::MN_MAJOR_VECTORS => Self::of_mn_major(panel),
            _ => Self::of_unaligned(panel, k_extent),
        }
    }

    #[inline(always)]
    fn of_k_major(panel: &Panel<E::Stored>) -> Self {
        let t = thread::thread_idx_x();
        let [row, vector] = [t / ROW_VECTORS as u32, t % ROW_VECTORS as u32];
        Loader {
            from: panel.element(row, vector * E::VECTOR as u32),
            advance: E::BK,
            step: (THREADS / ROW_VECTORS) as u32 * panel.leading,
            inside: panel.left(row),
            first: [row, vector],
            rows: Rows::none(),
        }
    }

    #[inline(always)]
    fn of_mn_major(panel: &Panel<E::Stored>) -> Self {
        let t = thread::thread_idx_x();
        let [k, vector] = [t / Self::MN_VECTORS as u32, t % Self::MN_VECTORS as u32];
        let column = vector * E::VECTOR as u32;
        Loader {
            from: panel.element(column, k),
            advance: E::BK * panel.leading as usize,
            step: (THREADS / Self::MN_VECTORS) as u32 * panel.leading,
            inside: panel.left(column).min(E::VECTOR as u32) * E::ELEMENT_BYTES as u32,
            first: [k, vector],
            rows: Rows::none(),
        }
    }

    #[inline(always)]
    fn of_unaligned(panel: &Panel<E::Stored>, k_extent: u32) -> Self {
        let t = thread::thread_idx_x();
        let is_k_major = panel.k_major;
        let vectors = match is_k_major {
            true => ROW_VECTORS as u32,
            false => Self::MN_VECTORS as u32,
        };
        let [row, vector] = [t / vectors, t % vectors];
        let (from, shift) = unaligned::first_vector(panel, row);
        let (own, own_shift) = unaligned::first_vector(panel, t);
        let step = THREADS as u32 / vectors;
        Loader {
            from: from.wrapping_byte_add(vector as usize * VECTOR_BYTES),
            advance: match is_k_major {
                true => E::BK,
                false => E::BK * panel.leading as usize,
            },
            step: step * panel.leading,
            inside: panel.left(0),
            first: [row, vector],
            rows: Rows {
                is_k_major,
                step,
                left: match is_k_major {
                    true => k_extent + shift / E::ELEMENT_BYTES as u32,
                    false => k_extent,
                },
                shift,
                last: own.wrapping_byte_add(vectors as usize * VECTOR_BYTES),
                last_shift: match !is_k_major && t < E::BK as u32 {
                    true => own_shift,
                    false => 0,
                },
            },
        }
    }

    /// Starts to copy the next k-tile, of which the operand has `k_extent` elements along k, to
    /// `stage`; where not `enabled`, does nothing. Of unaligned rows, whose ends lie in the
    /// k-tile behind, `k_extent` is a k-tile more than there is.
    ///
    /// # Safety
    /// Where `enabled`, the operand is as [`Panel`] says, and no other access touches the stage
    /// before the copies are complete. Rows start at multiples of 16 bytes where `LAYOUT` is one of
    /// vectors.
    #[inline(always)]
    pub unsafe fn start_copies(&mut self, stage: SharedAddress, k_extent: u32, enabled: bool) {
        // SAFETY: the contract is that of this function.
        unsafe {
            match LAYOUT {
                layout::K_MAJOR_VECTORS => self.copy_k_major(stage, k_extent, enabled),
                layout::MN_MAJOR_VECTORS => self.copy_mn_major(stage, k_extent, enabled),
                _ if enabled => self.copy_unaligned(stage, k_extent),
                _ => {}
            }
        }
        self.from = self.from.wrapping_add(self.advance);
        self.rows.last = self.rows.last.wrapping_add(self.advance);
        self.rows.left = self.rows.left.saturating_sub(E::BK as u32);
    }

    /// # Safety
    /// As for [`start_copies`](Self::start_copies).
    #[inline(always)]
    unsafe fn copy_k_major(&self, stage: SharedAddress, k_extent: u32, enabled: bool) {
        let [first, vector] = self.first.map(|index| index as usize);
        let elements = k_extent.saturating_sub((vector * E::VECTOR) as u32);
        let bytes = (elements * E::ELEMENT_BYTES as u32).min(VECTOR_BYTES as u32);
        for index in 0..Self::VECTORS {
            let from = self.from.wrapping_add(index * self.step as usize);
            let rows = index * (THREADS / ROW_VECTORS);
            let bytes = if (rows as u32) < self.inside {
                bytes
            } else {
                0
            };
            let to = stage.at(k_major_offset(first + rows, vector));
            // SAFETY: bytes outside of the operand are not read, by the conditions. The vector lies
            // inside of the stage by the assertions of `new`.
            unsafe { async_copy::copy_16_partial_if(to, from, bytes, enabled) };
        }
    }

    /// # Safety
    /// As for [`start_copies`](Self::start_copies).
    #[inline(always)]
    unsafe fn copy_mn_major(&self, stage: SharedAddress, k_extent: u32, enabled: bool) {
        let [first, vector] = self.first.map(|index| index as usize);
        for index in 0..Self::VECTORS {
            let from = self.from.wrapping_add(index * self.step as usize);
            let k = first + index * (THREADS / Self::MN_VECTORS);
            let bytes = if (k as u32) < k_extent {
                self.inside
            } else {
                0
            };
            let to = stage.at(E::mn_major_offset::<BMN>(k, vector * E::VECTOR));
            // SAFETY: as for `copy_k_major`.
            unsafe { async_copy::copy_16_partial_if(to, from, bytes, enabled) };
        }
    }

    /// Most k-tiles have all of their vectors, and a copy needs no count of bytes, which takes as
    /// many instructions as the MMAs.
    ///
    /// # Safety
    /// As for [`start_copies`](Self::start_copies), where enabled.
    #[inline(always)]
    unsafe fn copy_unaligned(&self, stage: SharedAddress, k_extent: u32) {
        let rows = &self.rows;
        let [first, vector] = self.first;
        let element_bytes = E::ELEMENT_BYTES as u32;
        let before = vector * VECTOR_BYTES as u32;
        // Rows that the operand has, and bytes of them in vectors; bytes from row to row.
        let [count, bytes, row_bytes] = match rows.is_k_major {
            true => {
                let elements = rows.left.min(E::BK as u32);
                [self.inside, elements * element_bytes, BK_BYTES as u32]
            }
            false => {
                let bytes = self.inside.min(BMN as u32) * element_bytes;
                [rows.left, bytes, (BMN * E::ELEMENT_BYTES) as u32]
            }
        };
        let pitch = row_bytes + VECTOR_BYTES as u32;
        let at_most = |bytes: u32| bytes.min(VECTOR_BYTES as u32);
        let shift = if rows.is_k_major { 0 } else { rows.shift };
        let left = at_most((shift + bytes).saturating_sub(before));
        let has_all = rows.is_k_major || self.inside >= BMN as u32;
        let is_whole = has_all && k_extent >= 2 * E::BK as u32;
        let copy = |index: usize, left: u32| {
            let from = self.from.wrapping_add(index * self.step as usize);
            let row = first + index as u32 * rows.step;
            let left = if row < count { left } else { 0 };
            let to = stage.at(row * pitch + before);
            // SAFETY: what is read in front of the operand's first element lies in a vector with
            // it, and so in the same allocation. Bytes behind its rows are not read. The vector
            // lies inside of the stage by the assertions of `new`.
            unsafe { copy_partial(to, from, left, true) };
        };
        if is_whole {
            for index in 0..Self::VECTORS {
                copy(index, VECTOR_BYTES as u32);
            }
        } else {
            for index in 0..Self::VECTORS {
                copy(index, left);
            }
        }
        if rows.is_k_major {
            return;
        }
        let row = thread::thread_idx_x();
        let left = at_most((rows.last_shift + bytes).saturating_sub(row_bytes));
        let left = if row < count { left } else { 0 };
        let to = stage.at(row * pitch + row_bytes);
        // SAFETY: the vector lies behind a row of the operand, and only bytes of that are read. A
        // thread with a shift has a row of the tile.
        unsafe {
            copy_partial(to, rows.last, left, rows.last_shift > 0);
        }
    }
}

impl<T> Rows<T> {
    /// Of an operand whose rows are aligned.
    #[inline(always)]
    fn none() -> Self {
        Rows {
            is_k_major: false,
            step: 0,
            left: 0,
            shift: 0,
            last: core::ptr::null(),
            last_shift: 0,
        }
    }
}

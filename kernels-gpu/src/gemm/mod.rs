//! GEMM, C ← α · op(A) · op(B) + β · C: its parameters, how its tiles are dealt out, and what the generations share.
//!
//! | file | what |
//! |---|---|
//! | [`portable`] | tiles, for GPUs of any generation |
//! | [`skinny`] | products of which one side is short |
//! | [`partials`] | the sum of the parts of k |
//! | [`choose`](mod@choose), [`instance`], `cost` | which of these, and of `ampere` and `hopper`, computes a product |
//! | [`operand`], [`ring`], [`dgemm_tile`] | parts of those kernels: asynchronous copies, stages, f64 on tensor cores |
//! | [`meet`](mod@meet), [`slices`], [`scalar`] | tiles that blocks share; sums in short chains; elements, four at a time |
//!
//! # Layout
//! Everything is row-major with leading dimensions: C is m × n with rows `ldc` elements apart. op(A) is m × k and op(B) is
//! k × n; each operand is stored either as it is used or transposed:
//!
//! | `transpose_a` | element (i, l) of op(A) lies at | `transpose_b` | element (l, j) of op(B) lies at |
//! |---|---|---|---|
//! | 0 | i · lda + l, lda ≥ k | 0 | l · ldb + j, ldb ≥ n |
//! | 1 | l · lda + i, lda ≥ m | 1 | j · ldb + l, ldb ≥ k |
//!
//! A column-major product is the same one with A and B, and m and n, exchanged.
//!
//! # Grid
//! x and y count tiles of C along n and m. z counts products: batch · `splits` + split. With `splits` > 1 the products of
//! a batch share k, `k_per_split` each, and write sums without α and β to `partials`, an array of batches × splits
//! matrices of m rows, [`partials_pitch`] apart; a second kernel (`sgemm_reduce`, `dgemm_reduce`, or one for a C of 16 bits) adds those up into C.
//!
//! Where the last round of tiles would leave multiprocessors idle, its tiles are cut: the grid is then one row of blocks, `whole` of which compute a tile each; after those come the first parts of all other tiles, `k_first` deep, and
//! then their other parts, `k_rest` deep. Blocks of one tile [`meet`](mod@meet) in memory before `partials`.

#[cfg(not(target_arch = "nvptx64"))]
pub mod choose;
#[cfg(not(target_arch = "nvptx64"))]
mod cost;
pub mod dgemm_tile;
pub mod instance;
pub mod meet;
pub mod operand;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod partials;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod portable;
pub mod ring;
pub mod scalar;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod skinny;
pub mod slices;

use cuda_std::hint::opaque;
use cuda_std::prelude::*;
use scalar::{Output, Scalar};

/// Parameters of a product, passed by value. Sizes and distances are in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<T> {
    /// Rows of C and op(A).
    pub m: u32,
    /// Columns of C and op(B).
    pub n: u32,
    /// Columns of op(A), rows of op(B).
    pub k: u32,
    /// Distance of two rows of A as it is stored; at most [`MAX_LEADING`].
    pub lda: u32,
    /// Distance of two rows of B as it is stored; at most [`MAX_LEADING`].
    pub ldb: u32,
    /// Distance of two rows of C.
    pub ldc: u32,
    /// 1 where A is stored as k × m.
    pub transpose_a: u32,
    /// 1 where B is stored as n × k.
    pub transpose_b: u32,
    /// Into how many parts k is split; at least 1.
    pub splits: u32,
    /// Extent of a part along k.
    pub k_per_split: u32,
    /// Tiles that one block computes; [`u32::MAX`] where none is cut. Otherwise `splits` and the batch are 1.
    pub whole: u32,
    /// The number of the other tiles; at least 1.
    pub cut: u32,
    /// Into how many parts along k these are cut.
    pub parts: u32,
    /// Extent of the first part of a tile along k.
    pub k_first: u32,
    /// Extent of its other parts.
    pub k_rest: u32,
    /// Extent along k of what `sgemm` sums in one chain: a power of two that its tiles' depth divides. See [`slices`].
    pub slice: u32,
    /// Distance of two matrices A of a batch.
    pub stride_a: u64,
    /// Distance of two matrices B of a batch.
    pub stride_b: u64,
    /// Distance of two matrices C of a batch.
    pub stride_c: u64,
    /// α.
    pub alpha: T,
    /// β. Where it is 0, C is not read.
    pub beta: T,
}

/// The largest leading dimension of A and B: 256 rows of a tile are told apart by 32 bits.
pub const MAX_LEADING: u32 = 1 << 24;

/// Distance of two rows of partial products of `n` columns: whole vectors, whatever `n` is.
pub const fn partials_pitch(n: u32) -> usize {
    (n as usize).next_multiple_of(4)
}

impl<T: GpuFloat> Gemm<T> {
    /// The product of one pair of dense matrices, op(A) · op(B).
    pub const fn dense([m, n, k]: [u32; 3], [transpose_a, transpose_b]: [bool; 2]) -> Self {
        Gemm {
            m,
            n,
            k,
            lda: if transpose_a { m } else { k },
            ldb: if transpose_b { k } else { n },
            ldc: n,
            transpose_a: transpose_a as u32,
            transpose_b: transpose_b as u32,
            splits: 1,
            k_per_split: k,
            whole: u32::MAX,
            cut: 1,
            parts: 1,
            k_first: k,
            k_rest: 0,
            slice: slices::WHOLE,
            stride_a: 0,
            stride_b: 0,
            stride_c: 0,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }
}

/// What a block computes.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// First row and column of its tile in C.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// Which matrices of the batch.
    pub batch: u32,
    /// Which part of k.
    pub split: u32,
    /// First element and extent along k.
    pub start: u32,
    /// See `start`.
    pub depth: u32,
}

/// Rows of tiles that blocks of neighbouring numbers stay in.
const GROUP: u32 = 8;

impl Task {
    /// The task of this block, for tiles of `rows` × `columns`.
    ///
    /// Blocks start in the order of their numbers. Numbered along the rows of C, those that run together would need all of
    /// B; so they go down 8 tiles before they go to the next column, and share what the caches hold of both.
    #[inline(always)]
    pub fn of_this_block<T>(gemm: &Gemm<T>, rows: u32, columns: u32) -> Self {
        let (across, down) = (gemm.n.div_ceil(columns), gemm.m.div_ceil(rows));
        let z = thread::block_idx_z();
        let mut number = thread::block_idx_y() * across + thread::block_idx_x();
        let (batch, split) = (z / gemm.splits, z % gemm.splits);
        let (mut start, mut most) = (split * gemm.k_per_split, gemm.k_per_split);
        // Without branches, which would make the compiler take the depth for another one in each thread.
        let share = Share::of_block(gemm, number);
        let (is_cut, is_later) = (number >= gemm.whole, share.part > 0);
        number = if is_cut {
            gemm.whole + share.tile
        } else {
            number
        };
        let later = gemm.k_first + (share.part.wrapping_sub(1)).wrapping_mul(gemm.k_rest);
        let of_share = if is_later { gemm.k_rest } else { gemm.k_first };
        start = if is_cut && is_later { later } else { start };
        most = if is_cut { of_share } else { most };
        let first = number / (GROUP * across) * GROUP;
        let height = GROUP.min(down - first);
        let within = number - first * across;
        Task {
            row: (first + within % height) * rows,
            column: within / height * columns,
            batch,
            split,
            start,
            depth: most.min(gemm.k.saturating_sub(start)),
        }
    }
}

/// A block's share of a tile that is cut.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Which of the tiles that are cut.
    pub tile: u32,
    /// Which part of it.
    pub part: u32,
}

impl Share {
    /// The share of this block. It is found out by a number that the compiler does not know, so that what was known before the
    /// main loop holds no registers through it.
    #[inline(always)]
    pub fn of_this_block<T>(gemm: &Gemm<T>) -> Option<Self> {
        let number = opaque(thread::block_idx_x() as usize) as u32;
        (number >= gemm.whole).then(|| Self::of_block(gemm, number))
    }

    /// Where the sums of this part lie, row-major, for tiles of `elements` elements. Those of the tile's other parts lie beside
    /// them.
    #[inline(always)]
    pub fn place<T>(&self, gemm: &Gemm<T>, partials: *mut T, elements: usize) -> *mut T {
        let part = self.tile as usize * gemm.parts as usize + self.part as usize;
        partials.wrapping_add(part * elements)
    }

    /// The share of the block of this number, which is at least `whole`; otherwise anything.
    #[inline(always)]
    fn of_block<T>(gemm: &Gemm<T>, number: u32) -> Self {
        let number = number.wrapping_sub(gemm.whole);
        Share {
            tile: number % gemm.cut,
            part: number / gemm.cut,
        }
    }
}

/// Where a block's sums go: C, or the partial sums of its part of k.
#[derive(Clone, Copy, Debug)]
pub struct Target<C: Output> {
    /// First element of the matrix.
    pub start: *mut C,
    /// Distance of two rows.
    pub leading: usize,
    /// Rows and columns of the matrix.
    pub rows: usize,
    /// See `rows`.
    pub columns: usize,
    /// Factor of the sums.
    pub alpha: C::Wide,
    /// Factor of what was there.
    pub beta: C::Wide,
}

impl<T: Scalar> Target<T> {
    /// The target of this task, whose tile has so many rows and columns, where sums and C are of one type.
    #[inline(always)]
    pub fn new(gemm: &Gemm<T>, task: &Task, c: *mut T, partials: *mut T, tile: [usize; 2]) -> Self {
        if let Some(share) = Share::of_this_block(gemm) {
            Self::of_share(gemm, task, share, partials, tile)
        } else if gemm.splits > 1 {
            Self::of_part(gemm, [task.batch, task.split], partials)
        } else {
            Self::of_c(gemm, task.batch, c)
        }
    }

    /// The target of this task where it is not C: where there are others for the same tile.
    #[inline(always)]
    pub fn of_sums(
        gemm: &Gemm<T>,
        task: &Task,
        partials: *mut T,
        tile: [usize; 2],
    ) -> Option<Self> {
        if let Some(share) = Share::of_this_block(gemm) {
            Some(Self::of_share(gemm, task, share, partials, tile))
        } else if gemm.splits > 1 {
            Some(Self::of_part(gemm, [task.batch, task.split], partials))
        } else {
            None
        }
    }

    /// The sums of a share of this task's tile.
    #[inline(always)]
    fn of_share(
        gemm: &Gemm<T>,
        task: &Task,
        share: Share,
        partials: *mut T,
        [tile_rows, tile_columns]: [usize; 2],
    ) -> Self {
        let (row, column) = (task.row as usize, task.column as usize);
        let place = share.place(gemm, partials, tile_rows * tile_columns);
        Target {
            // Counted from the start of a matrix, as all tiles are.
            start: place.wrapping_sub(row * tile_columns + column),
            leading: tile_columns,
            rows: row + tile_rows,
            columns: column + tile_columns,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }

    /// The partial sums of a part of k of a product of the batch.
    #[inline(always)]
    pub fn of_part(gemm: &Gemm<T>, [batch, split]: [u32; 2], partials: *mut T) -> Self {
        let index = batch as usize * gemm.splits as usize + split as usize;
        let (rows, leading) = (gemm.m as usize, partials_pitch(gemm.n));
        Target {
            start: partials.wrapping_add(index * rows * leading),
            leading,
            rows,
            // Those beyond n are written too: it costs nothing, and vectors are whole.
            columns: leading,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }
}

impl<C: Output> Target<C> {
    /// C of a product of the batch.
    #[inline(always)]
    pub fn of_c(gemm: &Gemm<C::Wide>, batch: u32, c: *mut C) -> Self {
        Target {
            start: c.wrapping_add(batch as usize * gemm.stride_c as usize),
            leading: gemm.ldc as usize,
            rows: gemm.m as usize,
            columns: gemm.n as usize,
            alpha: gemm.alpha,
            beta: gemm.beta,
        }
    }

    /// Stores a sum, if there is such an element.
    ///
    /// # Safety
    /// The target is a matrix of `rows` × `columns` elements, this one nobody else's.
    #[inline(always)]
    pub unsafe fn store(&self, row: usize, column: usize, sum: C::Wide) {
        if row < self.rows && column < self.columns {
            // SAFETY: inside of the matrix by the test, and the caller's.
            unsafe {
                let to = self.start.add(row * self.leading + column);
                let scaled = sum * self.alpha;
                *to = C::from_wide(if self.beta == C::Wide::ZERO {
                    scaled
                } else {
                    self.beta.mul_add((*to).widen(), scaled)
                });
            }
        }
    }

    /// Stores four sums of a row from a multiple of 4 on, as far as there are such elements; there is the first.
    ///
    /// # Safety
    /// The target is a matrix of `rows` × `columns` elements, these nobody else's; the first is one of them.
    #[inline(always)]
    pub unsafe fn store_4(&self, row: usize, column: usize, sums: [C::Wide; 4]) {
        if self.beta == C::Wide::ZERO
            && self.vectors()
            && self.columns.is_multiple_of(4)
            && self.leading.is_multiple_of(4)
        {
            let scaled = sums.map(|sum| sum * self.alpha);
            // SAFETY: inside of the matrix because rows are of whole vectors, and aligned because all are.
            unsafe { C::store_4(self.start.add(row * self.leading + column), scaled) };
        } else {
            for (q, sum) in sums.into_iter().enumerate() {
                // SAFETY: passed on to the caller.
                unsafe { self.store(row, column + q, sum) };
            }
        }
    }

    /// Whether rows start at multiples of 16 bytes and end with a whole vector of 4 `f32`, 2 `f64` or 8 of 16 bits.
    #[inline(always)]
    pub fn vectors(&self) -> bool {
        let vector = 16 / size_of::<C>();
        self.leading.is_multiple_of(vector)
            && (self.start.addr() | (self.columns * size_of::<C>())).is_multiple_of(16)
    }

    /// The new element for a sum that was multiplied by α: `scaled` + β · `old`.
    #[inline(always)]
    pub fn combine(&self, scaled: C::Wide, old: C::Wide) -> C::Wide {
        if self.beta == C::Wide::ZERO {
            scaled
        } else {
            self.beta.mul_add(old, scaled)
        }
    }
}

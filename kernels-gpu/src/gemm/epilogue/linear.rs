//! Linear combination: C ← α · accumulators + β · C, or partial accumulators to the workspace.

use crate::gemm::element::{Output, Scalar};
use crate::gemm::scheduler::grid::{StreamKUnit, WorkTile};
use crate::gemm::{GemmParams, partials_pitch};
use cuda_std::prelude::*;

/// Where a block's accumulators go: C, or the partial accumulators of its part of k.
#[derive(Clone, Copy, Debug)]
pub struct LinearCombination<C: Output> {
    /// First element of the matrix.
    pub start: *mut C,
    /// Distance of two rows.
    pub leading: usize,
    /// Rows and columns of the matrix.
    pub rows: usize,
    /// See `rows`.
    pub columns: usize,
    /// Factor of the accumulators.
    pub alpha: C::Wide,
    /// Factor of what was there.
    pub beta: C::Wide,
}

impl<T: Scalar> LinearCombination<T> {
    /// The epilogue of this tile, whose tile has so many rows and columns, where accumulators and C are of one type.
    #[inline(always)]
    pub fn new(
        gemm: &GemmParams<T>,
        work: &WorkTile,
        c: *mut T,
        partials: *mut T,
        tile: [usize; 2],
    ) -> Self {
        if let Some(unit) = StreamKUnit::of_this_block(gemm) {
            Self::of_unit(gemm, work, unit, partials, tile)
        } else if gemm.splits > 1 {
            Self::of_split(gemm, [work.batch, work.split], partials)
        } else {
            Self::of_c(gemm, work.batch, c)
        }
    }

    /// The epilogue of this tile where it is not C: where there are others for the same tile.
    #[inline(always)]
    pub fn of_partial_sums(
        gemm: &GemmParams<T>,
        work: &WorkTile,
        partials: *mut T,
        tile: [usize; 2],
    ) -> Option<Self> {
        if let Some(unit) = StreamKUnit::of_this_block(gemm) {
            Some(Self::of_unit(gemm, work, unit, partials, tile))
        } else if gemm.splits > 1 {
            Some(Self::of_split(gemm, [work.batch, work.split], partials))
        } else {
            None
        }
    }

    /// The accumulators of a unit of this tile's tile.
    #[inline(always)]
    fn of_unit(
        gemm: &GemmParams<T>,
        work: &WorkTile,
        unit: StreamKUnit,
        partials: *mut T,
        [tile_rows, tile_columns]: [usize; 2],
    ) -> Self {
        let (row, column) = (work.row as usize, work.column as usize);
        let place = unit.place(gemm, partials, tile_rows * tile_columns);
        LinearCombination {
            // Counted from the start of a matrix, as all tiles are.
            start: place.wrapping_sub(row * tile_columns + column),
            leading: tile_columns,
            rows: row + tile_rows,
            columns: column + tile_columns,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }

    /// The partial accumulators of a part of k of a product of the batch.
    #[inline(always)]
    pub fn of_split(gemm: &GemmParams<T>, [batch, split]: [u32; 2], partials: *mut T) -> Self {
        let index = batch as usize * gemm.splits as usize + split as usize;
        let (rows, leading) = (gemm.m as usize, partials_pitch(gemm.n));
        LinearCombination {
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

impl<C: Output> LinearCombination<C> {
    /// C of a product of the batch.
    #[inline(always)]
    pub fn of_c(gemm: &GemmParams<C::Wide>, batch: u32, c: *mut C) -> Self {
        LinearCombination {
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
    /// The epilogue is a matrix of `rows` × `columns` elements, this one nobody else's.
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

    /// Stores four accumulators of a row from a multiple of 4 on, as far as there are such elements; there is the first.
    ///
    /// # Safety
    /// The epilogue is a matrix of `rows` × `columns` elements, these nobody else's; the first is one of them.
    #[inline(always)]
    pub unsafe fn store_4(&self, row: usize, column: usize, accumulators: [C::Wide; 4]) {
        if self.beta == C::Wide::ZERO
            && self.vectors()
            && self.columns.is_multiple_of(4)
            && self.leading.is_multiple_of(4)
        {
            let scaled = accumulators.map(|sum| sum * self.alpha);
            // SAFETY: inside of the matrix because rows are of whole vectors, and aligned because all are.
            unsafe { C::store_4(self.start.add(row * self.leading + column), scaled) };
        } else {
            for (q, sum) in accumulators.into_iter().enumerate() {
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

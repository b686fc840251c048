//! The epilogue of one thread: C ← α · accumulators + β · C, or partial sums to the workspace.

use super::add_source;
use crate::gemm::element::{Output, Scalar};
use crate::gemm::scheduler::grid::{StreamKUnit, WorkTile};
use crate::gemm::{GemmParams, partial_sums_pitch};
use cuda_std::prelude::*;

/// The matrix that a block stores its accumulators to: C, or partial sums in the workspace, for
/// which α is 1 and β is 0.
#[derive(Clone, Copy, Debug)]
pub struct LinearCombination<C: Output> {
    /// Element (0, 0) of the matrix.
    pub start: *mut C,
    /// Its leading dimension.
    pub leading: usize,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// α.
    pub alpha: C::Wide,
    /// β.
    pub beta: C::Wide,
}

impl<T: Scalar> LinearCombination<T> {
    /// The epilogue of a work tile of `BM` × `BN`, where C has the type of the accumulators.
    #[inline(always)]
    pub fn new(
        params: &GemmParams<T>,
        work: &WorkTile,
        c: *mut T,
        workspace: *mut T,
        tile: [usize; 2],
    ) -> Self {
        if let Some(unit) = StreamKUnit::of_this_block(params) {
            Self::of_unit(params, work, unit, workspace, tile)
        } else if params.splits > 1 {
            Self::of_split(params, [work.batch, work.split], workspace)
        } else {
            Self::of_c(params, work.batch, c)
        }
    }

    /// The epilogue of a work tile that shares its tile with other blocks: it stores partial sums.
    #[inline(always)]
    pub fn of_partial_sums(
        params: &GemmParams<T>,
        work: &WorkTile,
        workspace: *mut T,
        tile: [usize; 2],
    ) -> Option<Self> {
        if let Some(unit) = StreamKUnit::of_this_block(params) {
            Some(Self::of_unit(params, work, unit, workspace, tile))
        } else if params.splits > 1 {
            Some(Self::of_split(params, [work.batch, work.split], workspace))
        } else {
            None
        }
    }

    /// The partial sums of a work unit of a stream-K tile.
    #[inline(always)]
    fn of_unit(
        params: &GemmParams<T>,
        work: &WorkTile,
        unit: StreamKUnit,
        workspace: *mut T,
        [bm, bn]: [usize; 2],
    ) -> Self {
        let (row, column) = (work.row as usize, work.column as usize);
        let partial_sums = unit.partial_sums(params, workspace, bm * bn);
        LinearCombination {
            // Element (0, 0) of a matrix in which the tile lies where it lies in C.
            start: partial_sums.wrapping_sub(row * bn + column),
            leading: bn,
            rows: row + bm,
            columns: column + bn,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }

    /// The partial sums of a split of a GEMM of the batch.
    #[inline(always)]
    pub fn of_split(params: &GemmParams<T>, [batch, split]: [u32; 2], workspace: *mut T) -> Self {
        let index = batch as usize * params.splits as usize + split as usize;
        let (rows, leading) = (params.m as usize, partial_sums_pitch(params.n));
        LinearCombination {
            start: workspace.wrapping_add(index * rows * leading),
            leading,
            rows,
            // Columns from n on are stored as well: vectors then stay whole.
            columns: leading,
            alpha: T::ONE,
            beta: T::ZERO,
        }
    }
}

impl<C: Output> LinearCombination<C> {
    /// C of a GEMM of the batch.
    #[inline(always)]
    pub fn of_c(params: &GemmParams<C::Wide>, batch: u32, c: *mut C) -> Self {
        LinearCombination {
            start: c.wrapping_add(batch as usize * params.stride_c as usize),
            leading: params.ldc as usize,
            rows: params.m as usize,
            columns: params.n as usize,
            alpha: params.alpha,
            beta: params.beta,
        }
    }

    /// Stores an accumulator, if the matrix has the element.
    ///
    /// # Safety
    /// `start`, `leading`, `rows` and `columns` describe a matrix in device memory. No other thread
    /// stores the element.
    #[inline(always)]
    pub unsafe fn store(&self, row: usize, column: usize, accumulator: C::Wide) {
        if row < self.rows && column < self.columns {
            // SAFETY: the element is inside of the matrix by the test above.
            unsafe {
                let to = self.start.add(row * self.leading + column);
                let scaled = accumulator * self.alpha;
                *to = C::from_wide(if self.beta == C::Wide::ZERO {
                    scaled
                } else {
                    add_source(self.beta, (*to).widen(), scaled)
                });
            }
        }
    }

    /// Stores four accumulators of a row, from a multiple of 4 on, as far as the matrix has the
    /// elements.
    ///
    /// # Safety
    /// As for [`store`](Self::store); the matrix has the first of the elements.
    #[inline(always)]
    pub unsafe fn store_4(&self, row: usize, column: usize, accumulators: [C::Wide; 4]) {
        if self.beta == C::Wide::ZERO
            && self.vectors()
            && self.columns.is_multiple_of(4)
            && self.leading.is_multiple_of(4)
        {
            let scaled = accumulators.map(|accumulator| accumulator * self.alpha);
            // SAFETY: rows are of whole vectors, so the matrix has all four elements; every row
            // starts at a multiple of 16 bytes.
            unsafe { C::store_4(self.start.add(row * self.leading + column), scaled) };
        } else {
            for (q, accumulator) in accumulators.into_iter().enumerate() {
                // SAFETY: the matrix and its elements are those of this function's contract.
                unsafe { self.store(row, column + q, accumulator) };
            }
        }
    }

    /// Whether rows start at multiples of 16 bytes and end with a whole vector of 16 bytes: 4
    /// `f32`, 2 `f64` or 8 elements of 16 bits.
    #[inline(always)]
    pub fn vectors(&self) -> bool {
        let vector = 16 / size_of::<C>();
        self.leading.is_multiple_of(vector)
            && (self.start.addr() | (self.columns * size_of::<C>())).is_multiple_of(16)
    }

    /// `scaled` + β · `old`, where `scaled` is an accumulator times α.
    #[inline(always)]
    pub fn combine(&self, scaled: C::Wide, old: C::Wide) -> C::Wide {
        if self.beta == C::Wide::ZERO {
            scaled
        } else {
            add_source(self.beta, old, scaled)
        }
    }
}

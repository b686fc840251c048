//! The epilogue of one thread, which stores its accumulators to C, or to the workspace as partial
//! sums of split-K.

use super::output_op::OutputOp;
use crate::gemm::element::{Output, Scalar};
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::{GemmParams, partial_sums_pitch};
use cuda_std::prelude::*;

/// Elements of a column of the matrix, of which a thread stores some.
#[derive(Clone, Copy, Debug)]
pub struct Column<C, Op> {
    /// The first of them.
    start: *mut C,
    /// Distance of two of them.
    leading: u32,
    /// How many there are.
    rows: u32,
    op: Op,
}

impl<C: Output, Op: OutputOp<C::Wide>> Column<C, Op> {
    /// Stores the results of scaled accumulators to every `step`th element from `row` on, as far
    /// as there are such, where the operator needs no source.
    ///
    /// # Safety
    /// The matrix is in device memory. No other thread stores the elements.
    #[inline(always)]
    pub unsafe fn store_scaled<const N: usize>(&self, row: u32, step: u32, scaled: [C::Wide; N]) {
        for i in 0..N {
            let row = row + i as u32 * step;
            if row < self.rows {
                let offset = u64::from(row) * u64::from(self.leading);
                let to = self.start.wrapping_add(offset as usize);
                let result = C::from_wide(self.op.combine(scaled[i], C::Wide::ZERO));
                // SAFETY: the test says that the column has the element.
                unsafe { *to = result };
            }
        }
    }
}

/// Elements of a vector, which a thread stores at once.
const VECTOR: usize = 4;

/// The matrix that a block stores its accumulators to, and the output operator.
#[derive(Clone, Copy, Debug)]
pub struct DirectEpilogue<C, Op> {
    /// Element (0, 0) of the matrix.
    start: *mut C,
    /// Its leading dimension.
    leading: usize,
    /// Its rows.
    rows: usize,
    /// Its columns.
    columns: usize,
    op: Op,
}

impl<T: Scalar, Op: OutputOp<T>> DirectEpilogue<T, Op> {
    /// The epilogue of a work tile, where C has the type of the accumulators.
    #[inline(always)]
    pub fn new(
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
        work: &WorkTile,
        [c, workspace]: [*mut T; 2],
    ) -> Self {
        if scheduler.splits > 1 {
            Self::of_split(params, scheduler, work, workspace)
        } else {
            Self::of_c(params, work.batch, c)
        }
    }

    /// The partial sums of a split of a GEMM of the batch.
    #[inline(always)]
    pub fn of_split(
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
        work: &WorkTile,
        workspace: *mut T,
    ) -> Self {
        let leading = partial_sums_pitch(params.n);
        DirectEpilogue {
            start: workspace.wrapping_add(work.partial_sums_offset(params, scheduler)),
            leading,
            rows: params.m as usize,
            // Columns from n on are stored as well: vectors then stay whole.
            columns: leading,
            op: Op::of_partial_sums(),
        }
    }
}

impl<C: Output, Op: OutputOp<C::Wide>> DirectEpilogue<C, Op> {
    /// C of a GEMM of the batch.
    #[inline(always)]
    pub fn of_c(params: &GemmParams<C::Wide>, batch: u32, c: *mut C) -> Self {
        DirectEpilogue {
            start: c.wrapping_add(batch as usize * params.stride_c as usize),
            leading: params.ldc as usize,
            rows: params.m as usize,
            columns: params.n as usize,
            op: Op::new(params),
        }
    }

    /// What depends on an accumulator alone: see [`OutputOp::scale`].
    #[inline(always)]
    pub fn scale(&self, accumulator: C::Wide) -> C::Wide {
        self.op.scale(accumulator)
    }

    /// Whether [`store_4`](Self::store_4) stores vectors: rows start at multiples of a vector's
    /// bytes, or of 16.
    #[inline(always)]
    pub fn vectors(&self) -> bool {
        let row_bytes = self.leading * size_of::<C>();
        let align = const {
            if size_of::<C>() < 4 {
                VECTOR * size_of::<C>()
            } else {
                16
            }
        };
        (self.start.addr() | row_bytes).is_multiple_of(align)
    }

    /// Whether a result depends on the element of the matrix that was there before.
    #[inline(always)]
    pub fn is_source_needed(&self) -> bool {
        self.op.is_source_needed()
    }

    /// Whether the matrix has all of a tile of these `extents` from `row` and `column` on.
    #[inline(always)]
    pub fn has_all(&self, [row, column]: [usize; 2], [rows, columns]: [usize; 2]) -> bool {
        row + rows <= self.rows && column + columns <= self.columns
    }

    /// The elements of a column from `row` on.
    #[inline(always)]
    pub fn column(&self, row: usize, column: usize) -> Column<C, Op> {
        let rows = if column < self.columns {
            self.rows.saturating_sub(row)
        } else {
            0
        };
        Column {
            start: (self.start).wrapping_add(row * self.leading + column),
            leading: self.leading as u32,
            rows: rows as u32,
            op: self.op,
        }
    }

    /// Stores the result of an accumulator, if the matrix has the element.
    ///
    /// # Safety
    /// The matrix is in device memory. No other thread stores the element.
    #[inline(always)]
    pub unsafe fn store(&self, row: usize, column: usize, accumulator: C::Wide) {
        // SAFETY: this function has the contract of `store_scaled`.
        unsafe { self.store_scaled(row, column, self.op.scale(accumulator)) }
    }

    /// Stores the result of a scaled accumulator, if the matrix has the element.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    pub unsafe fn store_scaled(&self, row: usize, column: usize, scaled: C::Wide) {
        if row < self.rows && column < self.columns {
            // SAFETY: the element is inside of the matrix by the test above.
            unsafe {
                let to = self.start.add(row * self.leading + column);
                let source = if self.op.is_source_needed() {
                    (*to).widen()
                } else {
                    C::Wide::ZERO
                };
                *to = C::from_wide(self.op.combine(scaled, source));
            }
        }
    }

    /// Stores the results of a row of `N` scaled accumulators in shared memory, the first of them
    /// at `row` and `column`, as far as the matrix has the elements: 128 aligned bytes at a time,
    /// wherever the row begins. `SOURCE` is whether a [source](Self::is_source_needed) is needed.
    ///
    /// # Safety
    /// All lanes of the warp execute it. The matrix is in device memory, and no other thread stores
    /// the elements.
    #[inline(always)]
    pub unsafe fn store_row<const SOURCE: bool, const N: usize>(
        &self,
        [row, column]: [usize; 2],
        scaled: *const C::Wide,
    ) {
        const LINE_BYTES: usize = 128;
        const LANES: usize = 32;
        let of_line = LINE_BYTES / size_of::<C>();
        let to = (self.start).wrapping_add(row * self.leading + column);
        let count = if row < self.rows {
            self.columns.saturating_sub(column).min(N)
        } else {
            0
        };
        let in_line = to.addr() / size_of::<C>() % of_line;
        let lane = warp::lane_id() as usize;
        // SAFETY: `store_pair` has the contract of this function, and `count` says which elements
        // the matrix has. Before the row's start, an index is more than that.
        unsafe {
            if to.addr().is_multiple_of(2 * size_of::<C>()) {
                for first in (0..N + of_line).step_by(2 * LANES) {
                    let index = (first + 2 * lane).wrapping_sub(in_line);
                    self.store_pair::<SOURCE>(to, scaled, index, count);
                }
            } else {
                for first in (0..N + of_line).step_by(LANES) {
                    let index = (first + lane).wrapping_sub(in_line);
                    self.store_pair::<SOURCE>(to, scaled, index, count.min(index.wrapping_add(1)));
                }
            }
        }
    }

    /// Stores the results of two scaled accumulators, from `index` on, as far as that is less than
    /// `count`.
    ///
    /// # Safety
    /// As for [`store_row`](Self::store_row). The matrix has `count` elements from `to` on. The
    /// address of `index` is a multiple of two elements' bytes where `count` is more than the next.
    #[inline(always)]
    unsafe fn store_pair<const SOURCE: bool>(
        &self,
        to: *mut C,
        scaled: *const C::Wide,
        index: usize,
        count: usize,
    ) {
        if index >= count {
            return;
        }
        // SAFETY: the tests say that the matrix has the elements, and the contract that both are
        // aligned together.
        unsafe {
            let result = |index: usize| {
                let source = if SOURCE {
                    (*to.wrapping_add(index)).widen()
                } else {
                    C::Wide::ZERO
                };
                self.op.combine(*scaled.wrapping_add(index), source)
            };
            let at = to.wrapping_add(index);
            if index + 1 < count {
                C::store_2(at, [result(index), result(index + 1)]);
            } else {
                *at = C::from_wide(result(index));
            }
        }
    }

    /// Stores the results of four accumulators of a row as a vector, where no
    /// [source](Self::is_source_needed) is needed.
    ///
    /// # Safety
    /// As for [`store`](Self::store), of four elements that the matrix has. Rows start at multiples
    /// of [vectors](Self::vectors), and `column` is a multiple of 4.
    #[inline(always)]
    pub unsafe fn store_vector(&self, row: usize, column: usize, accumulators: [C::Wide; VECTOR]) {
        let to = self.start.wrapping_add(row * self.leading + column);
        let results = accumulators.map(|accumulator| self.op.result_of(accumulator));
        // SAFETY: the contract says that the matrix has the elements, and that they are aligned.
        unsafe { C::store_4(to, results) };
    }

    /// Stores the results of four accumulators of a row, from a multiple of 4 on, as far as the
    /// matrix has the elements: as a vector where `vectors`, the result of
    /// [`vectors`](Self::vectors), and the matrix has all four.
    ///
    /// # Safety
    /// As for [`store`](Self::store), of four elements.
    #[inline(always)]
    pub unsafe fn store_4(
        &self,
        row: usize,
        column: usize,
        accumulators: [C::Wide; VECTOR],
        vectors: bool,
    ) {
        if row >= self.rows {
            return;
        }
        if vectors && column + VECTOR <= self.columns {
            let to = self.start.wrapping_add(row * self.leading + column);
            let op = self.op;
            let mut results = accumulators.map(move |accumulator| op.scale(accumulator));
            // SAFETY: the matrix has all four elements, and its rows are aligned.
            unsafe {
                if op.is_source_needed() {
                    let source = C::load_4(to);
                    for q in 0..VECTOR {
                        results[q] = op.combine(results[q], source[q]);
                    }
                } else {
                    results = results.map(move |scaled| op.combine(scaled, C::Wide::ZERO));
                }
                C::store_4(to, results);
            }
        } else {
            for q in 0..VECTOR {
                // SAFETY: the matrix and its elements are those of this function's contract.
                unsafe { self.store(row, column + q, accumulators[q]) };
            }
        }
    }
}

//! The staged epilogue of a warp: its accumulators go through shared memory, so that neighbouring
//! lanes have neighbouring vectors of a row of C.
//!
//! # Idea
//! An MMA leaves two neighbouring elements of a row in a lane. Stored from there, 16-bit elements
//! fill half of a sector of memory. So a warp stages 16 rows at a time in shared memory, which only
//! it accesses, and then stores vectors of four.
//!
//! Rows of C begin anywhere. They are staged shifted by as much, so that aligned vectors of C are
//! aligned vectors of shared memory; only at the two ends of a row elements are stored one by one.
//! All vectors of the 16 rows are loaded before the first one is stored.
//!
//! A source and an operator with a [last step](OutputOp::finish) are computed for a vector after
//! the other, by code that stands once, in a loop. There, vectors begin with the columns of the
//! tile, and elements of an unaligned C are stored one by one.
//!
//! # Source
//! Beyond the sources; CUTLASS's epilogues stage rows as well.

use super::any_matrix::AnyMatrix;
use crate::gemm::GemmParams;
use crate::gemm::element::Output;
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::mma::multistage::Accumulators;
use crate::gemm::mma::operand::{MMA_M, MMA_N};
use crate::gemm::partial_sums_pitch;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use cuda_std::hint::{opaque, rolled};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, Vector};

/// Elements between the end of a row and the start of the next: rows then start 8 banks apart, and
/// neither stores of vec2s nor loads of vec4s have bank conflicts. A shifted row ends there.
const PADDING: usize = 8;

/// Elements of a vector.
const VECTOR: usize = 4;

/// Distance of two rows in shared memory, for warp tiles of `wn` columns.
const fn pitch(wn: usize) -> usize {
    wn + PADDING
}

/// Bytes of shared memory of a warp, for warp tiles of `wn` columns.
pub const fn bytes_per_warp(wn: usize) -> usize {
    MMA_M * pitch(wn) * size_of::<f32>()
}

/// Moves MMAs up whose accumulators lie below each other, so that code for the first ones serves
/// all.
#[inline(always)]
fn move_up<const MMAS_M: usize, const MMAS_N: usize>(
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
) {
    for i in 1..MMAS_M {
        accumulators[i - 1] = accumulators[i];
    }
}

/// Calls `emit` with four accumulators of a row at a time, and with the row and column of the first
/// one in the warp tile. The accumulators are gone after it. `emit` stands once in the code.
///
/// # Safety
/// All lanes of the warp execute it. `memory` has [`bytes_per_warp`] bytes of shared memory,
/// aligned to 16, that no other warp accesses.
#[inline(always)]
unsafe fn for_each_vector<const MMAS_M: usize, const MMAS_N: usize>(
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
    memory: *mut f32,
    emit: impl Fn(usize, usize, [f32; 4]),
) {
    const { assert!(MMAS_N.is_power_of_two() && MMAS_N >= 2 && MMAS_N <= 16) };
    let pitch = pitch(MMAS_N * MMA_N);
    let lane = warp::lane_id() as usize;
    let (group, t) = (lane / 4, lane % 4);
    // Vec4s of a row, of which a lane has one, and rows that a warp loads at a time.
    let lanes = MMAS_N * MMA_N / 4;
    let rows = 32 / lanes;
    let mut top = opaque(0);
    while top < MMAS_M * MMA_M {
        for j in 0..MMAS_N {
            let [a, b, c, d] = accumulators[0][j];
            let to = memory.wrapping_add(group * pitch + MMA_N * j + 2 * t);
            // SAFETY: row and column are inside of the warp's memory; the column is even, and so is
            // the pitch. Each lane has vec2s of its own.
            unsafe {
                F32x2::store(to, [a, b]);
                F32x2::store(to.wrapping_add(8 * pitch), [c, d]);
            }
        }
        // SAFETY: all lanes are here by the contract.
        unsafe { warp::sync_warp(warp::FULL_MASK) };
        let mut pass = opaque(0);
        while pass < MMA_M {
            let (row, column) = (pass + lane / lanes, lane % lanes * 4);
            // SAFETY: inside of the warp's memory, at a multiple of 16 bytes: the pitch is one of 8
            // elements. The barrier lies behind the stores.
            let four = unsafe { F32x4::load(memory.wrapping_add(row * pitch + column)) };
            emit(top + row, column, four);
            pass = rolled(pass + rows);
        }
        // SAFETY: all lanes are here by the contract.
        unsafe { warp::sync_warp(warp::FULL_MASK) };
        move_up(accumulators);
        top = rolled(top + MMA_M);
    }
}

/// The results of a GEMM: C, its extents and the operator.
#[derive(Clone, Copy, Debug)]
pub struct StagedOutput<N, Op> {
    /// C.
    pub c: AnyMatrix<N>,
    /// Rows and columns of C.
    pub extents: [usize; 2],
    /// The operator.
    pub op: Op,
}

impl<N: Output<Wide = f32>, Op: OutputOp<f32>> StagedOutput<N, Op> {
    /// The partial sums of a split of a GEMM of the batch, in the workspace.
    #[inline(always)]
    pub fn of_split(
        params: &GemmParams<f32>,
        scheduler: &GridSchedulerParams,
        work: &WorkTile,
        workspace: *mut f32,
    ) -> Self {
        let leading = partial_sums_pitch(params.n);
        let offset = work.partial_sums_offset(params, scheduler);
        StagedOutput {
            c: AnyMatrix::new(workspace.cast(), offset, leading, false),
            // Columns from n on are stored as well: vectors then stay whole.
            extents: [params.m as usize, leading],
            op: Op::of_partial_sums(),
        }
    }

    /// Stores the results of a warp tile from row `top` and column `left` on, as far as C has them.
    /// The accumulators are gone after it.
    ///
    /// # Safety
    /// All lanes of the warp execute it. `memory` has [`bytes_per_warp`] bytes of shared memory,
    /// aligned to 16, that no other warp accesses. C is in device memory, and no other warp stores
    /// this tile.
    #[inline(always)]
    pub unsafe fn store<const MMAS_M: usize, const MMAS_N: usize>(
        &self,
        accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
        memory: *mut f32,
        [top, left]: [usize; 2],
    ) {
        // SAFETY: the contract is that of this function. The condition is the same in all lanes.
        unsafe {
            if self.op.is_source_needed() || self.op.has_finish() {
                for_each_vector(accumulators, memory, |row, column, four| {
                    self.store_4(top + row, left + column, four);
                });
            } else {
                self.store_shifted(accumulators, memory, [top, left]);
            }
        }
    }

    /// [`store`](Self::store) for an operator without source and last step, by shifted rows.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_shifted<const MMAS_M: usize, const MMAS_N: usize>(
        &self,
        accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
        memory: *mut f32,
        [top, left]: [usize; 2],
    ) {
        const { assert!(MMAS_N.is_power_of_two() && MMAS_N >= 2 && MMAS_N <= 16) };
        let pitch = pitch(MMAS_N * MMA_N);
        let lane = warp::lane_id() as usize;
        let (group, t) = (lane / 4, lane % 4);
        // A row that is 8 further has the same shift.
        let shift = self.c.shift(top + group, left);
        let to = memory.wrapping_add(group * pitch + shift + 2 * t);
        if lane < MMA_M {
            // The first vector of a row is loaded as a whole, and the row may have a part of it.
            // SAFETY: inside of the warp's memory, at a multiple of 16 bytes.
            unsafe { F32x4::store(memory.wrapping_add(lane * pitch), [0.0; VECTOR]) };
        }
        let mut below = opaque(0);
        while below < MMAS_M * MMA_M {
            // SAFETY: all lanes are here by the contract. Row and column are inside of the warp's
            // memory: behind a row are as many elements as it may be shifted by. The barriers order
            // what was read before the writes, and these before what is read then.
            unsafe {
                warp::sync_warp(warp::FULL_MASK);
                for j in 0..MMAS_N {
                    let [a, b, c, d] = accumulators[0][j];
                    let to = to.wrapping_add(MMA_N * j);
                    f32::store_each(to, [a, b]);
                    f32::store_each(to.wrapping_add(8 * pitch), [c, d]);
                }
                warp::sync_warp(warp::FULL_MASK);
                self.store_rows::<MMAS_N>(memory, [top + below, left]);
            }
            move_up(accumulators);
            below = rolled(below + MMA_M);
        }
    }

    /// Stores 16 shifted rows from row `top` of C on.
    ///
    /// # Safety
    /// As for [`store`](Self::store). The rows have been written, and a barrier lies behind that.
    #[inline(always)]
    unsafe fn store_rows<const MMAS_N: usize>(&self, memory: *const f32, [top, left]: [usize; 2]) {
        const MAX_VECTORS: usize = 16;
        let pitch = pitch(MMAS_N * MMA_N);
        let lane = warp::lane_id() as usize;
        // Vectors of a row, of which a lane has one, and rows that a warp stores at a time.
        let lanes = MMAS_N * MMA_N / VECTOR;
        let rows = 32 / lanes;
        let [rows_of_c, columns_of_c] = self.extents;
        // Elements of a row that C has.
        let count = columns_of_c.saturating_sub(left).min(MMAS_N * MMA_N);
        let (first, vector) = (lane / lanes, lane % lanes * VECTOR);
        let mut vectors = [[0.0; VECTOR]; MAX_VECTORS];
        for i in 0..MMA_M / rows {
            let from = memory.wrapping_add((first + i * rows) * pitch + vector);
            // SAFETY: inside of the warp's memory, at a multiple of 16 bytes: the pitch is one of
            // 8 elements.
            vectors[i] = unsafe { F32x4::load(from) };
        }
        for i in 0..MMA_M / rows {
            let row = top + first + i * rows;
            let shift = self.c.shift(row, left);
            let is_whole = vector >= shift && vector - shift + VECTOR <= count;
            if is_whole && row < rows_of_c {
                let results = vectors[i].map(|accumulator| self.op.result_of(accumulator));
                // SAFETY: the tests say that C has the vector; less the shift, it is aligned.
                unsafe { self.c.store_vector(row, left + vector - shift, results) };
            }
        }
        // Both ends of each row: a lane has one.
        let (line, is_end) = (lane % MMA_M, lane >= MMA_M);
        let row = top + line;
        let shift = self.c.shift(row, left);
        let behind_head = shift.next_multiple_of(VECTOR) - shift;
        let (from, end) = if is_end {
            let whole = ((shift + count) / VECTOR * VECTOR).saturating_sub(shift);
            (whole.max(behind_head), count)
        } else {
            (0, behind_head.min(count))
        };
        let memory = memory.wrapping_add(line * pitch + shift);
        for element in 0..VECTOR - 1 {
            let column = from + element;
            if column < end && row < rows_of_c {
                // SAFETY: the tests say that C has the element, and the row has it there.
                unsafe {
                    let result = self.op.result_of(*memory.wrapping_add(column));
                    self.c.store(row, left + column, result);
                }
            }
        }
    }

    /// Stores the results of four accumulators of a row, from a multiple of 4 on, as far as C has
    /// the elements.
    ///
    /// # Safety
    /// C is in device memory. No other thread stores these elements.
    #[inline(always)]
    unsafe fn store_4(&self, row: usize, column: usize, accumulators: [f32; 4]) {
        let [rows, columns] = self.extents;
        if row >= rows || column >= columns {
            return;
        }
        let (op, count) = (self.op, (columns - column).min(4));
        let mut results = accumulators.map(|accumulator| op.scale(accumulator));
        // SAFETY: C has `count` elements from there on, which are this thread's by the contract.
        unsafe {
            let source = if op.is_source_needed() {
                self.c.load_4(row, column, count)
            } else {
                [0.0; 4]
            };
            for q in 0..4 {
                results[q] = op.combine(results[q], source[q]);
            }
            if op.has_finish() {
                op.finish(|q| [row, column + q.min(count - 1)], &mut results);
            }
            if op.has_factor() {
                for q in 0..4 {
                    results[q] = op.multiply(results[q], source[q]);
                }
            }
            self.c.store_4(row, column, count, results);
        }
    }
}

//! The staged epilogue of a warp: its accumulators go through shared memory, so that neighbouring
//! lanes have neighbouring vectors of a row of C.
//!
//! # Idea
//! An MMA leaves two neighbouring elements of a row in a lane. Stored from there, 16-bit elements
//! fill half of a sector of memory. So a warp stages 16 rows at a time in shared memory, which only
//! it accesses, and then stores vectors of four. What is computed for each vector stands once in a
//! loop, so a kernel can have several output types and operators.
//!
//! # Source
//! Beyond the sources; CUTLASS's epilogues do the same.

use crate::gemm::element::Output;
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::mma::multistage::Accumulators;
use crate::gemm::mma::operand::{MMA_M, MMA_N};
use cuda_std::hint::{opaque, rolled};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x2, F32x4, Vector};

/// Elements between the end of a row and the start of the next: rows then start 8 banks apart, and
/// neither stores of vec2s nor loads of vec4s have bank conflicts.
const PADDING: usize = 8;

/// Distance of two rows in shared memory, for warp tiles of `wn` columns.
const fn pitch(wn: usize) -> usize {
    wn + PADDING
}

/// Bytes of shared memory of a warp, for warp tiles of `wn` columns.
pub const fn bytes_per_warp(wn: usize) -> usize {
    MMA_M * pitch(wn) * size_of::<f32>()
}

/// Calls `emit` with four accumulators of a row at a time, and with the row and column of the first
/// one in the warp tile. The accumulators are gone after it.
///
/// `emit` stands once in the code: MMAs that lie below each other pass through the registers of the
/// first ones.
///
/// # Safety
/// All lanes of the warp execute it. `memory` has [`bytes_per_warp`] bytes of shared memory,
/// aligned to 16, that no other warp accesses.
#[inline(always)]
pub unsafe fn for_each_vector<const MMAS_M: usize, const MMAS_N: usize>(
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
        for i in 1..MMAS_M {
            accumulators[i - 1] = accumulators[i];
        }
        top = rolled(top + MMA_M);
    }
}

/// A matrix of elements of f32, or of 16 bits, which is told at run time.
#[derive(Clone, Copy, Debug)]
pub struct AnyMatrix<N> {
    /// Its first element.
    start: *mut N,
    /// Whether its elements are those of 16 bits.
    is_16bit: bool,
    /// Its leading dimension.
    leading: usize,
}

impl<N: Output<Wide = f32>> AnyMatrix<N> {
    /// The matrix whose first element lies `offset` elements from `start` on.
    #[inline(always)]
    pub fn new(start: *mut u8, offset: usize, leading: usize, is_16bit: bool) -> Self {
        let first = AnyMatrix {
            start: start.cast(),
            is_16bit,
            leading,
        };
        first.shifted(offset)
    }

    /// The matrix that lies `offset` elements further.
    #[inline(always)]
    pub fn shifted(self, offset: usize) -> Self {
        AnyMatrix {
            start: self.start.wrapping_byte_add(offset * self.element_bytes()),
            ..self
        }
    }

    /// Bytes of an element.
    #[inline(always)]
    fn element_bytes(&self) -> usize {
        if self.is_16bit {
            size_of::<N>()
        } else {
            size_of::<f32>()
        }
    }

    /// An element.
    ///
    /// # Safety
    /// The matrix has it, and it is readable.
    #[inline(always)]
    pub unsafe fn load(&self, row: usize, column: usize) -> f32 {
        let index = row * self.leading + column;
        // SAFETY: the contract is that of this function.
        unsafe {
            if self.is_16bit {
                (*self.start.wrapping_add(index)).widen()
            } else {
                *self.start.cast::<f32>().wrapping_add(index)
            }
        }
    }

    /// Whether vectors of four elements of a row are aligned, from multiples of 4 on.
    #[inline(always)]
    fn has_vectors(&self) -> bool {
        let bytes = self.element_bytes();
        (self.start.addr() | (self.leading * bytes)).is_multiple_of(4 * bytes)
    }

    /// The first `count` ≤ 4 elements of a row from `column` on, a multiple of 4, and zeros.
    ///
    /// # Safety
    /// The matrix has them, and they are readable.
    #[inline(always)]
    pub unsafe fn load_4(&self, row: usize, column: usize, count: usize) -> [f32; 4] {
        let from = self.start;
        let index = row * self.leading + column;
        // SAFETY: the contract is that of this function; vectors are aligned by the test.
        unsafe {
            if count >= 4 && self.has_vectors() {
                if self.is_16bit {
                    N::load_4(from.wrapping_add(index))
                } else {
                    f32::load_4(from.cast::<f32>().wrapping_add(index))
                }
            } else {
                let mut four = [0.0; 4];
                for q in 0..4 {
                    if q < count {
                        four[q] = self.load(row, column + q);
                    }
                }
                four
            }
        }
    }

    /// Stores the first `count` ≤ 4 of four elements of a row from `column` on, a multiple of 4,
    /// rounded to the nearest.
    ///
    /// # Safety
    /// The matrix has them, they are writable, and no other thread accesses them.
    #[inline(always)]
    pub unsafe fn store_4(&self, row: usize, column: usize, count: usize, elements: [f32; 4]) {
        let index = row * self.leading + column;
        let (c_16bit, c_f32) = (
            self.start.wrapping_add(index),
            self.start.cast::<f32>().wrapping_add(index),
        );
        // SAFETY: the contract is that of this function; vectors are aligned by the test.
        unsafe {
            if count >= 4 && self.has_vectors() {
                if self.is_16bit {
                    N::store_4(c_16bit, elements);
                } else {
                    f32::store_4(c_f32, elements);
                }
            } else {
                for q in 0..4 {
                    if q < count && self.is_16bit {
                        *c_16bit.wrapping_add(q) = N::from_wide(elements[q]);
                    } else if q < count {
                        *c_f32.wrapping_add(q) = elements[q];
                    }
                }
            }
        }
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
    /// Stores the results of four accumulators of a row, from a multiple of 4 on, as far as C has
    /// the elements.
    ///
    /// # Safety
    /// C is in device memory. No other thread stores these elements.
    #[inline(always)]
    pub unsafe fn store_4(&self, row: usize, column: usize, accumulators: [f32; 4]) {
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
            self.c.store_4(row, column, count, results);
        }
    }
}

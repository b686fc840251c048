//! Which elements of C the accumulators of a warpgroup are: the layout of the `wgmma` instruction's
//! D (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts").

use super::output_op::OutputOp;
use crate::gemm::GemmParams;
use crate::gemm::element::Output;
use crate::gemm::scheduler::persistent::TileCoord;
use crate::gemm::wgmma::rs;
use cuda_std::prelude::*;
use cuda_std::wgmma::Accumulator;

/// Registers of a thread for eight columns: a vec2 in each of two rows.
pub(super) const EIGHT_REGISTERS: usize = 4;

/// Row and column of this thread's first accumulator in its warpgroup's 64 rows. The others are 8
/// rows and multiples of 8 columns further, in vec2s.
#[inline(always)]
pub(super) fn first() -> [usize; 2] {
    let lane = warp::lane_id() as usize;
    let warp = thread::thread_idx_x() as usize / 32 % 4;
    [16 * warp + lane / 4, 2 * (lane % 4)]
}

/// Row and column of this thread's accumulator `register`, where rows are permuted as [`rs::row`]
/// says.
#[inline(always)]
fn transposed(register: usize) -> [usize; 2] {
    let column = 2 * (warp::lane_id() as usize % 4);
    let second = register % EIGHT_REGISTERS >= 2;
    [
        rs::row(second) as usize,
        register / EIGHT_REGISTERS * 8 + column + register % 2,
    ]
}

/// Row and column of this thread's accumulator `register` in its warpgroup's 64 rows. With
/// `is_transposed`, rows are permuted as [`rs::row`] says.
#[inline(always)]
pub(super) fn offset(register: usize, is_transposed: bool) -> [usize; 2] {
    if is_transposed {
        return transposed(register);
    }
    let [row, column] = first();
    let second = register % EIGHT_REGISTERS / 2;
    [
        row + 8 * second,
        register / EIGHT_REGISTERS * 8 + column + register % 2,
    ]
}

/// Stores the accumulators of a warpgroup to C from row `top` and column `left` on. Each thread
/// stores its vec2s.
///
/// # Safety
/// C has m rows of n elements, n an even number. The MMAs have been waited for.
#[inline(always)]
pub unsafe fn store_vec2s<S: Accumulator>(
    accumulators: &S,
    c: *mut f32,
    [m, n]: [usize; 2],
    top: usize,
    left: usize,
) {
    let [row, column] = first();
    for half in 0..2 {
        let y = top + row + 8 * half;
        let from = c.wrapping_add(y * n + left + column);
        for j in 0..S::COLUMNS / 8 {
            if y < m && left + column + 8 * j < n {
                let register = EIGHT_REGISTERS * j + 2 * half;
                let two = [accumulators.get(register), accumulators.get(register + 1)];
                // SAFETY: the test says that the row and the column are inside of C. Column and n
                // are even, so both elements are, and the address is aligned.
                unsafe { f32::store_2(from.wrapping_add(8 * j), two) };
            }
        }
    }
}

/// The elements of C that belong to a warpgroup's accumulators.
#[derive(Clone, Copy)]
pub struct OutputElements<'a, C> {
    /// C.
    pub c: *mut C,
    /// The parameters of the GEMM.
    pub params: &'a GemmParams<f32>,
    /// Whether C lies column by column, and the accumulators' rows as [`rs::row`] says.
    pub transposed: bool,
}

impl<C: Output<Wide = f32>> OutputElements<'_, C> {
    /// The address in C of this thread's accumulator `register`, in the rows and columns from
    /// `coord` on; `None` where it lies outside of C.
    #[inline(always)]
    pub fn element(&self, coord: TileCoord, register: usize) -> Option<*mut C> {
        let params = self.params;
        let [row, column] = offset(register, self.transposed);
        let (row, column) = (coord.row as usize + row, coord.column as usize + column);
        let (major, minor) = if self.transposed {
            (column, row)
        } else {
            (row, column)
        };
        let matrix = coord.matrix as usize * params.stride_c as usize;
        let within = major * params.ldc as usize + minor;
        (row < params.m as usize && column < params.n as usize)
            .then(|| self.c.wrapping_add(matrix + within))
    }

    /// The result of `op` for the scaled accumulator `register`.
    ///
    /// # Safety
    /// `c` is the C that `params` describe, and may be read.
    #[inline(always)]
    pub unsafe fn result(
        &self,
        op: impl OutputOp<f32>,
        coord: TileCoord,
        register: usize,
        scaled: f32,
    ) -> f32 {
        match self.element(coord, register) {
            // SAFETY: `element` returns addresses inside of C, which may be read by the contract.
            Some(from) if op.is_source_needed() => op.combine(scaled, unsafe { (*from).widen() }),
            _ => op.combine(scaled, 0.0),
        }
    }

    /// Stores the result of accumulator `register`, if it lies inside of C.
    ///
    /// # Safety
    /// As for [`result`](Self::result). C may be written, and no other thread stores this
    /// element.
    #[inline(always)]
    pub unsafe fn store(&self, coord: TileCoord, register: usize, result: f32) {
        if let Some(to) = self.element(coord, register) {
            // SAFETY: `element` returns addresses inside of C, and the element is this thread's by
            // the contract.
            unsafe { *to = C::from_wide(result) };
        }
    }
}

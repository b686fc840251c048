//! `split_f32`, and the operand source of `wgmma_f32_split_…`: GEMMs of f32 on the tensor cores of
//! Hopper with the accuracy of f32.
//!
//! # Idea
//! [`split`](crate::gemm::mma::split) says which three numbers of bfloat16 an f32 is the sum of,
//! and which six products of them are computed. `wgmma` takes B from shared memory, so the terms
//! are written to the workspace first: a matrix of each, one behind the other, in the layout of the
//! operand. A tensor map has them as matrices of a batch, and a k-tile takes three stages of the
//! pipeline, each of one term of A and the same one of B. The six products read each term up to
//! three times, so that a k-tile is bound by its MMAs and not by what it loads. It begins at zero,
//! with the smallest products, and is added to promoted accumulators, which round.
//!
//! # Range
//! `split_f32` notes the largest and the least magnitudes in a
//! [`Range`]. Where three terms are not exact, or sums may not be
//! finite, the blocks of the GEMM end at once, and those of the kernel behind it, a
//! `gemm_f32_split_…` that otherwise ends at once, compute C.
//!
//! # Thread mapping
//! Blocks of 256 threads. A thread reads 8 neighbours of a row, two vectors of 16 bytes, and writes
//! a vector of each term, `VECTORS` times. z counts the matrices of a batch.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `gemm_f32_split`: terms are computed once for each element, and multiplied by
//! warpgroups.
//!
//! # Source
//! See [`split`](crate::gemm::mma::split). The promotion of `wgmma` accumulators: DeepSeek-AI,
//! "DeepSeek-V3 Technical Report", 2024, section 3.3.2.

use crate::gemm::mma::split::{RANGE_BYTES, Range, TERMS, split};
use crate::gemm::pack_rows::{self, Loading, Pack};
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::wgmma::source::{OperandSource, SS, UnitTiles};
use crate::gemm::wgmma::stage::{Operands, StageCoord, TensorMaps};
use core::marker::PhantomData;
use cuda_std::griddepcontrol;
use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, Vector};
use cuda_std::wgmma::{self, Accumulator, Input, K_MAJOR};

/// Threads of a block.
pub const THREADS: usize = 256;

/// Elements that a thread splits at a time: a vector of each term.
const PER_VECTOR: usize = 8;

/// Vectors of each term that a thread writes.
const VECTORS: usize = 2;

/// Blocks for `rows` rows whose terms are `to_pitch` elements apart.
pub const fn blocks(rows: u32, to_pitch: u32) -> u64 {
    let row_vectors = to_pitch as u64 / PER_VECTOR as u64;
    (rows as u64 * row_vectors).div_ceil((THREADS * VECTORS) as u64)
}

/// Writes the terms of A or B, `side` 0 or 1, and notes what its elements are like.
///
/// # Safety
/// `from` and `to` are device arrays that do not overlap, as `pack` describes them: to each matrix
/// of the source belong [`TERMS`] matrices of the copy, and `to_stride` is the distance of those.
/// `to` and its rows and matrices begin at multiples of 16 bytes. A matrix of the copy has fewer
/// than 2³² − 1024 vectors. The grid has [`blocks`] blocks in x and the number of matrices of the
/// source in z. Blocks have [`THREADS`] threads. Other kernels access `range` before and after
/// only.
#[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 2)]
pub unsafe fn split_f32(
    from: *const f32,
    to: *mut u16,
    range: *const Range,
    side: u32,
    pack: Pack,
) {
    let row_vectors = (pack.to_pitch as usize / PER_VECTOR).max(1) as u32;
    let matrix = thread::block_idx_z() as usize;
    let from = from.wrapping_add(matrix * pack.from_stride as usize);
    let to = to.wrapping_add(matrix * TERMS * pack.to_stride as usize);
    // Neighbouring threads have neighbouring vectors, of one row or of the next.
    let first = thread::block_idx_x() * (THREADS * VECTORS) as u32 + thread::thread_idx_x();
    let total = pack.rows * row_vectors;
    griddepcontrol::launch_dependents();
    griddepcontrol::wait();
    let mut loading = [[Loading::nothing(); 2]; VECTORS];
    for i in 0..VECTORS {
        let index = first + (i * THREADS) as u32;
        let row = (index / row_vectors) as usize;
        for half in 0..2 {
            let column = (index % row_vectors) as usize * PER_VECTOR + 4 * half;
            if index < total {
                let row = from.wrapping_add(row * pack.from_pitch as usize);
                let extents = [pack.rows, pack.columns];
                let around = pack_rows::readable([from, row], extents, pack.from_pitch);
                // SAFETY: the test says that the row is one of the source, of which `readable`
                // gives a part.
                loading[i][half] =
                    unsafe { Loading::start(row, column, pack.columns as usize, around) };
            }
        }
    }
    let (mut largest, mut least) = (0, u32::MAX);
    for i in 0..VECTORS {
        let index = first + (i * THREADS) as u32;
        let terms = loading[i].map(|loading| {
            // SAFETY: the source is readable.
            let four = unsafe { loading.finish() };
            for bits in four {
                largest = largest.max(bits & 0x7fff_ffff);
            }
            split(four, &mut least)
        });
        if index < total {
            let (row, vector) = (index / row_vectors, index % row_vectors);
            let at = row as usize * pack.to_pitch as usize + vector as usize * PER_VECTOR;
            for term in 0..TERMS {
                let to = to.wrapping_add(term * pack.to_stride as usize + at);
                let [[a, b], [c, d]] = [terms[0][term], terms[1][term]];
                // SAFETY: the test says that the vector is inside of the copy, whose rows are of
                // whole ones. Only this thread writes it.
                unsafe { U32x4::store(to.cast(), [a, b, c, d]) };
            }
        }
    }
    // SAFETY: no thread has returned. The range is valid by the contract.
    unsafe { (*range).extend(side as usize, largest, least) };
}

/// The term of A and of B in each stage of a k-tile: those of the first products come first.
const STAGE_TERMS: [usize; TERMS] = [2, 0, 1];

/// [`STAGE_TERMS`], 4 bits each: a loop reads them from a register.
const PACKED_TERMS: u32 = {
    let [third, first, second] = STAGE_TERMS;
    (third | first << 4 | second << 8) as u32
};

/// Both operands lie in shared memory, in terms: a stage has one of each.
#[derive(Clone, Copy, Debug)]
pub struct SplitSS<E, const A: i32, const B: i32>(pub PhantomData<E>);

impl<E: Input, const A: i32, const B: i32> SplitSS<E, A, B> {
    /// The sum of the products of terms of the pipeline's next k-tile, in the order of
    /// [`SMALL_PRODUCTS`](crate::gemm::mma::split::SMALL_PRODUCTS), with the largest last.
    ///
    /// # Safety
    /// As for [`mma_tiles`](OperandSource::mma_tiles).
    #[inline(always)]
    unsafe fn mma_k_tile<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        warpgroup: usize,
    ) -> S {
        let mut next_stage = || {
            // SAFETY: the pipeline is initialised by the contract, and this is a consumer.
            unsafe { pipeline.consumer_wait() };
            let stage = Operands::<A, B>::new(pipeline.stage(), CONSUMERS, warpgroup);
            let reading = pipeline.current();
            pipeline.advance();
            (stage, reading)
        };
        // SAFETY: a stage is read when it is full, and released when all but the newest MMAs are
        // complete, which do not read it. No other code touches the accumulators before `wait_all`.
        unsafe {
            let (third, reading_third) = next_stage();
            let (first, reading_first) = next_stage();
            let mut accumulators: S = third.with_b_of(first).mma::<E, S>();
            first.with_b_of(third).mma_add::<E, S>(&mut accumulators);
            let (second, reading_second) = next_stage();
            second.mma_add::<E, S>(&mut accumulators);
            wgmma::wait_group::<1>();
            reading_third.release();
            second.with_b_of(first).mma_add::<E, S>(&mut accumulators);
            first.with_b_of(second).mma_add::<E, S>(&mut accumulators);
            first.mma_add::<E, S>(&mut accumulators);
            wgmma::wait_group::<1>();
            reading_second.release();
            accumulators.wait_all();
            reading_first.release();
            accumulators
        }
    }
}

impl<E: Input + Copy, const A: i32, const B: i32> OperandSource for SplitSS<E, A, B> {
    const BYTES: usize = E::BYTES;
    const A_K_MAJOR: bool = A == K_MAJOR;
    const B_K_MAJOR: bool = B == K_MAJOR;
    const C_TRANSPOSED: bool = false;
    const K_TILE_STAGES: u32 = TERMS as u32;
    /// The producer has no registers for it, and loads are not what bounds a k-tile.
    const MULTICAST: bool = false;

    #[inline(always)]
    fn matrices(matrices: [u32; 2], stage: u32) -> [u32; 2] {
        let term = PACKED_TERMS >> (4 * stage) & 0xf;
        matrices.map(|matrix| matrix * TERMS as u32 + term)
    }

    #[inline(always)]
    unsafe fn is_left_out(workspace: *const f32, k: u32) -> bool {
        let range = workspace.wrapping_byte_sub(RANGE_BYTES as usize);
        // SAFETY: the range lies before the workspace by the contract.
        unsafe { !(*range.cast::<Range>()).is_inside(k) }
    }

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        coord: StageCoord,
    ) {
        // SAFETY: the contract is that of this function.
        unsafe { SS::<E, A, B>::load::<S, R, CONSUMERS>(pipeline, maps, coord) }
    }

    #[inline(always)]
    unsafe fn mma_tiles<S: Accumulator, R: Stages, C, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        let mut promoted = S::ZERO;
        for _ in 0..tiles.count {
            // SAFETY: the contract is that of this function: a k-tile has these stages.
            let products: S = unsafe { Self::mma_k_tile::<S, R, CONSUMERS>(pipeline, warpgroup) };
            for register in 0..S::COLUMNS / 2 {
                promoted.set(register, promoted.get(register) + products.get(register));
            }
        }
        promoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_of_a_k_tile_have_each_term_once() {
        let stages: [_; TERMS] = core::array::from_fn(|stage| {
            SplitSS::<cuda_std::mma::Bf16, 0, 0>::matrices([2, 0], stage as u32)
        });
        assert_eq!(stages, [[8, 2], [6, 0], [7, 1]]);
    }

    #[test]
    fn blocks_have_all_vectors() {
        assert_eq!(blocks(1, 8), 1);
        assert_eq!(blocks(512, 8), 1);
        assert_eq!(blocks(513, 8), 2);
        assert_eq!(blocks(3, 4096), 3);
    }
}

//! `sgemm_portable`, `dgemm_portable`, `gemm_f16_portable`, `gemm_bf16_portable`, `gemm_f16_portable_to_f16`,
//! `gemm_bf16_portable_to_bf16`: general products by tiles, on GPUs of any generation.
//!
//! # Idea
//! What `register_blocked` does, for any size and layout: a thread's accumulators stay in registers, and tiles of both operands pass
//! through shared memory, with k first, so that a thread finds what it multiplies side by side. The elements of the next
//! tile are loaded into registers while those of this one are multiplied, and there are two pairs of tiles, so that one
//! barrier separates them. Elements outside of an operand are zeros.
//!
//! Elements of 16 bits become `f32` on their way into shared memory: products and accumulators are then those of `f32`.
//! Where C is as narrow as A and B, a scaled sum is rounded when it is stored, and accumulators that must fix_up others stay as they are.
//!
//! # Thread mapping
//! 256 threads as 16 × 16; thread (x, y) owns 4 × 4 elements of the block's 64 × 64. Where the rows of an operand run along k, 16
//! threads load neighbours along k, otherwise 64 threads load neighbours along m or n.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `register_blocked`: edges, layouts, α and β, batches, parts of k, and elements of 16 bits; loads of single elements.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::{Output, Scalar};
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::reduction::last_block::fix_up;
use crate::gemm::scheduler::grid::WorkTile;
use crate::gemm::tile_config::TileConfig;
use cuda_std::float16::{Widen, bf16, f16};
use cuda_std::prelude::*;

/// Threads of a block, and along each side of its tile.
const THREADS: usize = 256;
const THREADS_X: usize = 16;

/// Rows and columns of a tile of C, and its extent along k.
const BMN: usize = 64;
const BK: usize = 16;

/// Rows and columns of a thread's accumulators.
const TM: usize = BMN / THREADS_X;

/// Elements that a thread loads of a tile: 64 · 16 / 256 = 4.
const LOADED: usize = BMN * BK / THREADS;

/// Distance of two k-rows of a shared tile: vectors stay aligned, and where rows of the operand run along k, the 16 threads
/// that store neighbours along k use 8 banks instead of one.
const PITCH: usize = BMN + 4;

/// Elements of the shared tiles of both operands.
const TILES: usize = 2 * BK * PITCH;

const _: () = assert!(THREADS_X * THREADS_X == THREADS && TM == 4 && THREADS.is_multiple_of(BMN));

/// 64 rows or columns of an operand, and what a thread loads of them.
struct Panel<I> {
    matrix: *const I,
    /// Distance of two elements along m or n, and along k.
    strides: [usize; 2],
    /// Extent of the matrix along m or n.
    extent: usize,
    /// The thread's first element along m or n, and along k from the tile's first on.
    first: [usize; 2],
    /// From one of its elements to the next.
    step: [usize; 2],
    /// Where the first one goes in a shared tile.
    to: usize,
}

impl<I: Widen<Wide: GpuFloat>> Panel<I> {
    #[inline(always)]
    fn new(matrix: *const I, leading: u32, along_k: bool, extent: u32, first: u32) -> Self {
        let t = thread::thread_idx_x() as usize;
        let (strides, [i, k], step) = if along_k {
            let step = [THREADS / BK, 0];
            ([leading as usize, 1], [t / BK, t % BK], step)
        } else {
            let step = [0, THREADS / BMN];
            ([1, leading as usize], [t % BMN, t / BMN], step)
        };
        Panel {
            matrix,
            strides,
            extent: extent as usize,
            first: [first as usize + i, k],
            step,
            to: k * PITCH + i,
        }
    }

    /// Loads this thread's elements of the tile from `start` on, and zeros from `end` on.
    ///
    /// # Safety
    /// The operand has `extent` × `end` elements.
    #[inline(always)]
    unsafe fn load(&self, start: usize, end: usize) -> [I::Wide; LOADED] {
        let mut elements = [I::Wide::ZERO; LOADED];
        for index in 0..LOADED {
            let i = self.first[0] + index * self.step[0];
            let k = start + self.first[1] + index * self.step[1];
            if i < self.extent && k < end {
                let place = i * self.strides[0] + k * self.strides[1];
                // SAFETY: inside of the operand by the test.
                elements[index] = unsafe { *self.matrix.add(place) }.widen();
            }
        }
        elements
    }

    /// Stores them into a shared tile.
    ///
    /// # Safety
    /// The tile has `BK` · `PITCH` elements, and nobody reads it.
    #[inline(always)]
    unsafe fn store(&self, tile: *mut I::Wide, elements: [I::Wide; LOADED]) {
        for index in 0..LOADED {
            let place = self.to + index * (self.step[0] + self.step[1] * PITCH);
            // SAFETY: inside of the tile, whose extents the steps divide.
            unsafe { *tile.add(place) = elements[index] };
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels; `memory` has two times [`TILES`] elements.
#[inline(always)]
unsafe fn body<I: Widen<Wide = T>, T: Scalar, C: Output<Wide = T>>(
    memory: *mut T,
    [a, b]: [*const I; 2],
    (c, partials): (*mut C, *mut T),
    gemm: GemmParams<T>,
) {
    let work = WorkTile::of_this_block(&gemm, BMN as u32, BMN as u32);
    let batch = work.batch as usize;
    let left = Panel::new(
        a.wrapping_add(batch * gemm.stride_a as usize),
        gemm.lda,
        gemm.transpose_a == 0,
        gemm.m,
        work.row,
    );
    let right = Panel::new(
        b.wrapping_add(batch * gemm.stride_b as usize),
        gemm.ldb,
        gemm.transpose_b != 0,
        gemm.n,
        work.column,
    );
    let t = thread::thread_idx_x() as usize;
    let (row, column) = (t / THREADS_X * TM, t % THREADS_X * TM);
    let (start, end) = (work.start as usize, (work.start + work.depth) as usize);
    let mut accumulators = [[T::ZERO; TM]; TM];
    // SAFETY: loads are guarded. Who stores into a tile has met all others at the barrier behind their last look at it: there
    // are two pairs of tiles, in turn.
    unsafe {
        let mut next = (left.load(start, end), right.load(start, end));
        let mut k = start;
        let mut tiles = memory;
        let mut others = memory.add(TILES);
        while k < end {
            left.store(tiles, next.0);
            right.store(tiles.add(BK * PITCH), next.1);
            thread::sync_threads();
            k += BK;
            next = (left.load(k, end), right.load(k, end));
            for depth in 0..BK {
                let of_a = T::load_4(tiles.add(depth * PITCH + row));
                let of_b = T::load_4(tiles.add((BK + depth) * PITCH + column));
                for i in 0..TM {
                    for j in 0..TM {
                        accumulators[i][j] = of_a[i].mul_add(of_b[j], accumulators[i][j]);
                    }
                }
            }
            (tiles, others) = (others, tiles);
        }
        let corner = [work.row as usize + row, work.column as usize + column];
        match LinearCombination::of_partial_sums(&gemm, &work, partials, [BMN; 2]) {
            Some(epilogue) => store(&epilogue, &accumulators, corner),
            None => store(
                &LinearCombination::of_c(&gemm, work.batch, c),
                &accumulators,
                corner,
            ),
        }
        // The block's barrier inside comes before a word of the tiles is written.
        fix_up::<C, BMN, BMN, THREADS, 4>(&gemm, &work, c, partials, memory.cast());
    }
}

/// Stores a thread's accumulators from a row and a column on.
///
/// # Safety
/// The epilogue is a matrix, the elements nobody else's.
#[inline(always)]
unsafe fn store<C: Output>(
    epilogue: &LinearCombination<C>,
    accumulators: &[[C::Wide; TM]; TM],
    [row, column]: [usize; 2],
) {
    for i in 0..TM {
        for j in 0..TM {
            // SAFETY: passed on to the caller.
            unsafe { epilogue.store(row + i, column + j, accumulators[i][j]) };
        }
    }
}

macro_rules! portable_kernels {
    ($($name:ident, $instances:ident: $input:ty => $sum:ty => $output:ty, $resident:literal;)*) => {
        $(
            #[doc = concat!("Products of `", stringify!($input), "`, summed in `", stringify!($sum), "`, C of `", stringify!($output), "`.")]
            ///
            /// # Safety
            /// See [`instance`](crate::gemm::tile_config).
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = $resident)]
            pub unsafe fn $name(
                a: &[$input],
                b: &[$input],
                c: *mut $output,
                partials: *mut $sum,
                gemm: GemmParams<$sum>,
            ) {
                let memory = shared_array![$sum; 2 * TILES];
                // SAFETY: passed on to the caller.
                unsafe { body(memory, [a.as_ptr(), b.as_ptr()], (c, partials), gemm) }
            }

            #[doc = concat!("`", stringify!($name), "`, which takes operands that lie in any way.")]
            pub const $instances: &[TileConfig] = &[TileConfig {
                entry: stringify!($name),
                tile: [BMN as u32, BMN as u32, BK as u32],
                threads: THREADS as u32,
                shared_bytes: 0,
                blocks_per_sm: $resident,
                promotion_interval: None,
                layouts: [layout::ANY; 2],
            }];
        )*
    };
}

portable_kernels! {
    sgemm_portable, OF_F32: f32 => f32 => f32, 2;
    dgemm_portable, OF_F64: f64 => f64 => f64, 1;
    gemm_f16_portable, OF_F16: f16 => f32 => f32, 2;
    gemm_bf16_portable, OF_BF16: bf16 => f32 => f32, 2;
    gemm_f16_portable_to_f16, OF_F16_TO_F16: f16 => f32 => f16, 2;
    gemm_bf16_portable_to_bf16, OF_BF16_TO_BF16: bf16 => f32 => bf16, 2;
}

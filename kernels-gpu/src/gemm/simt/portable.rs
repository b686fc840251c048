//! `sgemm_portable`, `dgemm_portable`, `gemm_f16_portable`, `gemm_bf16_portable`,
//! `gemm_f16_portable_to_f16`, `gemm_bf16_portable_to_bf16`: GEMMs by tiles, on GPUs of any
//! generation.
//!
//! # Idea
//! What `register_blocked` does, for any size and layout. A thread's accumulators stay in
//! registers. Tiles of both operands pass through shared memory, with k first, so that a thread
//! finds its operands side by side. The elements of the next k-tile are prefetched into registers
//! while this one is used. There are two stages, so that one barrier separates them. Elements
//! outside of an operand are zeros.
//!
//! Elements of 16 bits become `f32` when they are stored to shared memory, and accumulators are
//! `f32`. Where C has 16-bit elements too, a scaled accumulator is rounded when it is stored, and
//! partial sums stay `f32`.
//!
//! # Thread mapping
//! 256 threads as 16 × 16; thread (x, y) owns 4 × 4 elements of the block tile of 64 × 64. For a
//! K-major operand, 16 threads load neighbours along k, otherwise 64 threads load neighbours along
//! m or n.
//!
//! # Preconditions
//! None.
//!
//! # What changed since the rung before
//! Against `register_blocked`: edges, layouts, α and β, batches, split-K, and elements of 16 bits;
//! loads of single elements.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::{Output, Scalar};
use crate::gemm::epilogue::direct::DirectEpilogue;
use crate::gemm::epilogue::output_op::{LinearCombination, OutputOp};
use crate::gemm::reduction::fix_up::fix_up_block;
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::tile_config::TileConfig;
use cuda_std::float16::{Widen, bf16, f16};
use cuda_std::prelude::*;

/// Threads of a block, and along each side of its block tile.
const THREADS: usize = 256;
const THREADS_X: usize = 16;

/// The block tile: BM = BN = 64 elements of C, and the k-tile.
const BMN: usize = 64;
const BK: usize = 16;

/// The thread tile: TM = TN.
const TM: usize = BMN / THREADS_X;

/// Elements that a thread loads of a tile of A or B: 64 · 16 / 256 = 4.
const LOADED: usize = BMN * BK / THREADS;

/// Distance of two k-rows of a tile in shared memory. Vectors stay aligned. For a K-major operand,
/// the 16 threads that store neighbours along k use 8 banks instead of one.
const PITCH: usize = BMN + 4;

/// Elements of a stage: a tile of each operand.
const STAGE_ELEMENTS: usize = 2 * BK * PITCH;

const _: () = assert!(THREADS_X * THREADS_X == THREADS && TM == 4 && THREADS.is_multiple_of(BMN));

/// 64 rows of A or columns of B, and the elements of them that a thread loads.
struct Panel<I> {
    matrix: *const I,
    /// Distance of two elements along m or n, and along k.
    strides: [usize; 2],
    /// Extent of the matrix along m or n.
    extent: usize,
    /// The thread's first element along m or n, and along k from the k-tile's first on.
    first: [usize; 2],
    /// Distance from one of its elements to the next, along m or n, and along k.
    step: [usize; 2],
    /// Offset of the first one in a tile in shared memory.
    to: usize,
}

impl<I: Widen<Wide: GpuFloat>> Panel<I> {
    #[inline(always)]
    fn new(matrix: *const I, leading: u32, k_major: bool, extent: u32, first: u32) -> Self {
        let t = thread::thread_idx_x() as usize;
        let (strides, [i, k], step) = if k_major {
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

    /// Loads this thread's elements of the k-tile from `start` on, and zeros from `end` on.
    ///
    /// # Safety
    /// The operand has `extent` × `end` elements.
    #[inline(always)]
    unsafe fn load(&self, start: usize, end: usize) -> [I::Wide; LOADED] {
        let mut elements = [I::Wide::ZERO; LOADED];
        for element in 0..LOADED {
            let i = self.first[0] + element * self.step[0];
            let k = start + self.first[1] + element * self.step[1];
            if i < self.extent && k < end {
                let index = i * self.strides[0] + k * self.strides[1];
                // SAFETY: the test keeps the index inside of the operand.
                elements[element] = unsafe { *self.matrix.add(index) }.widen();
            }
        }
        elements
    }

    /// Stores them to a tile in shared memory.
    ///
    /// # Safety
    /// The tile has `BK` · `PITCH` elements, and no other thread reads it before the next barrier.
    #[inline(always)]
    unsafe fn store(&self, tile: *mut I::Wide, elements: [I::Wide; LOADED]) {
        for element in 0..LOADED {
            let index = self.to + element * (self.step[0] + self.step[1] * PITCH);
            // SAFETY: the index is inside of the tile, whose extents the steps divide.
            unsafe { *tile.add(index) = elements[element] };
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As [`tile_config`](crate::gemm::tile_config) says of the kernels. `memory` has two times
/// [`STAGE_ELEMENTS`] elements of shared memory, aligned to 16 bytes.
#[inline(always)]
unsafe fn body<I: Widen<Wide = T>, T: Scalar, C: Output<Wide = T>, Op: OutputOp<T>>(
    memory: *mut T,
    [a, b]: [*const I; 2],
    (c, workspace): (*mut C, *mut T),
    params: GemmParams<T>,
    scheduler: GridSchedulerParams,
) {
    let work = WorkTile::of_this_block(&params, &scheduler, [BMN as u32; 2]);
    let batch = work.batch as usize;
    let panel_a = Panel::new(
        a.wrapping_add(batch * params.stride_a as usize),
        params.lda,
        params.transpose_a == 0,
        params.m,
        work.row,
    );
    let panel_b = Panel::new(
        b.wrapping_add(batch * params.stride_b as usize),
        params.ldb,
        params.transpose_b != 0,
        params.n,
        work.column,
    );
    let t = thread::thread_idx_x() as usize;
    let (row, column) = (t / THREADS_X * TM, t % THREADS_X * TM);
    let (start, end) = (
        work.k_start as usize,
        (work.k_start + work.k_extent) as usize,
    );
    let mut accumulators = [[T::ZERO; TM]; TM];
    // SAFETY: operands, C and workspace are as the contract of this function says, and loads are
    // guarded. Between the last read of a stage and the next store to it lies the barrier of the
    // other stage.
    unsafe {
        let mut prefetched = (panel_a.load(start, end), panel_b.load(start, end));
        let mut k = start;
        let mut stage = memory;
        let mut other_stage = memory.add(STAGE_ELEMENTS);
        while k < end {
            panel_a.store(stage, prefetched.0);
            panel_b.store(stage.add(BK * PITCH), prefetched.1);
            thread::sync_threads();
            k += BK;
            prefetched = (panel_a.load(k, end), panel_b.load(k, end));
            for k_row in 0..BK {
                let fragment_a = T::load_4(stage.add(k_row * PITCH + row));
                let fragment_b = T::load_4(stage.add((BK + k_row) * PITCH + column));
                for i in 0..TM {
                    for j in 0..TM {
                        accumulators[i][j] =
                            fragment_a[i].mul_add(fragment_b[j], accumulators[i][j]);
                    }
                }
            }
            (stage, other_stage) = (other_stage, stage);
        }
        let coord = [work.row as usize + row, work.column as usize + column];
        // The fix-up has a block barrier before it overwrites a word of the stages.
        let flag = memory.cast();
        if !fix_up_block::<_, THREADS>(&scheduler, &mut accumulators, T::ONE, workspace, flag) {
            return;
        }
        if scheduler.splits > 1 {
            let epilogue = DirectEpilogue::<T, Op>::of_split(&params, &scheduler, &work, workspace);
            store(&epilogue, &accumulators, coord);
        } else {
            let epilogue = DirectEpilogue::<C, Op>::of_c(&params, work.batch, c);
            store(&epilogue, &accumulators, coord);
        }
    }
}

/// Stores a thread's accumulators, the first of them at `row` and `column`.
///
/// # Safety
/// The epilogue's matrix is in device memory. No other thread owns the elements of this thread
/// tile.
#[inline(always)]
unsafe fn store<C: Output, Op: OutputOp<C::Wide>>(
    epilogue: &DirectEpilogue<C, Op>,
    accumulators: &[[C::Wide; TM]; TM],
    [row, column]: [usize; 2],
) {
    for i in 0..TM {
        for j in 0..TM {
            // SAFETY: this function has the contract of `store`.
            unsafe { epilogue.store(row + i, column + j, accumulators[i][j]) };
        }
    }
}

macro_rules! portable_kernels {
    ($(
        $name:ident, $instances:ident:
        $input:ty => $accumulator:ty => $output:ty, $blocks_per_sm:literal;
    )*) => {
        $(
            #[doc = concat!(
                "GEMM of `", stringify!($input), "`, with accumulators of `",
                stringify!($accumulator), "` and C of `", stringify!($output), "`."
            )]
            ///
            /// # Safety
            /// See [`tile_config`](crate::gemm::tile_config).
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = $blocks_per_sm)]
            pub unsafe fn $name(
                a: &[$input],
                b: &[$input],
                c: *mut $output,
                workspace: *mut $accumulator,
                params: GemmParams<$accumulator>,
                scheduler: GridSchedulerParams,
            ) {
                let memory = shared_array![$accumulator; 2 * STAGE_ELEMENTS];
                // SAFETY: operands, C and workspace are as the kernel's contract says, and
                // `memory` is an array of two stages.
                unsafe {
                    body::<_, _, _, LinearCombination<$accumulator>>(
                        memory, [a.as_ptr(), b.as_ptr()], (c, workspace), params, scheduler,
                    )
                }
            }

            #[doc = concat!("`", stringify!($name), "`, which takes operands of any layout.")]
            pub const $instances: &[TileConfig] = &[TileConfig {
                entry: stringify!($name),
                tile: [BMN as u32, BMN as u32, BK as u32],
                narrowest: BMN as u32,
                threads: THREADS as u32,
                shared_bytes: 0,
                clusters: &[ClusterShape::ALONE],
                blocks_per_sm: $blocks_per_sm,
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

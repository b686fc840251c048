//! GEMV, GEMMs of which one side is short: `sgemv_n_…` and `sgemv_t_…`, and those of f64.
//!
//! # Idea
//! Where m or n is small, a GEMM reads the long operand once and does little with it: it is as fast
//! as memory. Most of a block tile would be empty. Here each element of the long operand goes from
//! global memory into a register, is multiplied by up to `BM` elements of the short operand, and is
//! not needed again.
//!
//! To have enough bytes in flight, k is split: among the threads of a block, which reduce their
//! partial sums in shared memory, and among blocks ([`GridSchedulerParams::splits`]). Blocks store
//! their few partial sums to the workspace, and the last block to arrive adds them: the fix-up. A
//! reduction kernel would take longer than that to start.
//!
//! With n < m the kernels compute Cᵀ = op(B)ᵀ · op(A)ᵀ, so the short side is always that of the
//! rows.
//!
//! # Thread mapping
//! GEMV N ([`gemv_n`], the entries `…gemv_n_…`) is for an MN-major long operand: 16 threads of a
//! row of the block own 4 columns each, and the 16 rows of threads take every 16th k.
//!
//! GEMV T ([`gemv_t`], the entries `…gemv_t_…`) is for a K-major long operand: a warp owns 4
//! columns, and each lane takes 4 neighbouring elements along k. Where k is long, up to 8 warps
//! share the columns, and take 128 elements along k in turn.
//!
//! # Preconditions
//! None. 128-bit loads where rows are aligned, loads of single elements elsewhere.
//!
//! # What changed since the rung before
//! Against `sgemm`: no reuse from shared memory, but a reduction of partial sums across threads.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::GemmParams;
use crate::gemm::element::Scalar;
use crate::gemm::epilogue::direct::DirectEpilogue;
use crate::gemm::epilogue::output_op::LinearCombination;
use crate::gemm::reduction::fix_up::{Block, COUNTER_BYTES, is_last};
use crate::gemm::scheduler::grid::GridSchedulerParams;
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 256;

/// Columns of a block of GEMV N.
pub const BLOCK_COLUMNS_N: usize = 64;

/// The warp tile of GEMV T has 4 columns.
const WN: usize = 4;

const WARPS: usize = THREADS / 32;

/// Warps of a block of GEMV T that share columns, for splits of `k_per_split` elements: each loads
/// [`RUN`] elements along k four times or more.
const fn warps_k(k_per_split: usize) -> usize {
    match k_per_split / (4 * RUN) {
        0 | 1 => 1,
        2 | 3 => 2,
        4..8 => 4,
        _ => 8,
    }
}

/// Columns of a block of GEMV T, for splits of `k_per_split` elements along k.
pub const fn block_columns_t(k_per_split: u32) -> usize {
    WN * (WARPS / warps_k(k_per_split as usize))
}

/// Elements of a vec4, which a thread loads at once.
const VEC4: usize = 4;

/// Rows of threads in a block of GEMV N: each takes every 16th k.
const THREADS_K: usize = THREADS / (BLOCK_COLUMNS_N / VEC4);

/// Loads of the long operand that a thread of GEMV N has in flight.
const LOADS_IN_FLIGHT: usize = 4;

/// Elements along k that a warp of GEMV T loads at once; splits of k start at multiples of it.
pub const RUN: usize = 32 * VEC4;

/// The longest short side that the kernels take.
pub const MAX_SHORT_SIDE: usize = 8;

/// A matrix with a stride along each dimension, in elements.
#[derive(Clone, Copy)]
struct Strided<T> {
    start: *const T,
    /// Distance of two elements along m or n.
    stride_mn: usize,
    /// Distance of two elements along k.
    stride_k: usize,
}

impl<T> Strided<T> {
    fn new(start: *const T, leading: u32, k_major: bool) -> Self {
        let (stride_mn, stride_k) = if k_major {
            (leading as usize, 1)
        } else {
            (1, leading as usize)
        };
        Strided {
            start,
            stride_mn,
            stride_k,
        }
    }

    /// Whether 4 elements, from a multiple of 4 on, are an aligned vec4 where the leading dimension
    /// is `leading`.
    #[inline(always)]
    fn vectors(&self, leading: usize) -> bool {
        self.start.addr().is_multiple_of(16) && leading.is_multiple_of(VEC4)
    }
}

/// Partial sums of other blocks that a thread has in flight in a fix-up.
const SPLITS_IN_FLIGHT: usize = 8;

/// The GEMM with its short side first, and the block tile of this block.
struct Gemv<T> {
    short: Strided<T>,
    long: Strided<T>,
    /// Extents of the GEMM, the short one first.
    rows: usize,
    columns: usize,
    /// First row and column of the block tile, and its extents.
    first_row: usize,
    first_column: usize,
    tile_rows: usize,
    tile_columns: usize,
    /// This block's split of k, from `start` to before `end`.
    start: usize,
    end: usize,
    /// Whether the short side is that of the columns.
    swapped: bool,
}

impl<T: Scalar> Gemv<T> {
    /// The GEMM `params`, for block tiles of `tile_rows` × `tile_columns`.
    #[inline(always)]
    fn new(
        [a, b]: [*const T; 2],
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
        [tile_rows, tile_columns]: [usize; 2],
    ) -> Self {
        let z = thread::block_idx_z();
        let (batch, split) = ((z / scheduler.splits) as usize, z % scheduler.splits);
        let start = (split * scheduler.k_per_split).min(params.k);
        let a = a.wrapping_add(batch * params.stride_a as usize);
        let b = b.wrapping_add(batch * params.stride_b as usize);
        let (m, n) = (params.m as usize, params.n as usize);
        let operand_a = Strided::new(a, params.lda, params.transpose_a == 0);
        let operand_b = Strided::new(b, params.ldb, params.transpose_b != 0);
        let swapped = n < m;
        // Blocks of neighbouring indices read the same elements of the long operand: one block
        // reads them from memory, the others from the L2 cache.
        let tiles_short = thread::grid_dim_y();
        let block = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
        Gemv {
            short: if swapped { operand_b } else { operand_a },
            long: if swapped { operand_a } else { operand_b },
            rows: m.min(n),
            columns: m.max(n),
            first_row: (block % tiles_short) as usize * tile_rows,
            first_column: (block / tiles_short) as usize * tile_columns,
            tile_rows,
            tile_columns,
            start: start as usize,
            end: (start + scheduler.k_per_split).min(params.k) as usize,
            swapped,
        }
    }

    /// The epilogue of this block. It is computed from an index that the compiler does not know, so
    /// that it holds no registers through the loop before.
    #[inline(always)]
    fn epilogue(
        &self,
        [c, workspace]: [*mut T; 2],
        params: &GemmParams<T>,
        scheduler: &GridSchedulerParams,
    ) -> GemvEpilogue<T> {
        let z = opaque(thread::block_idx_z() as usize) as u32;
        let (batch, split) = (z / scheduler.splits, z % scheduler.splits);
        let (tiles_long, tiles_short) = (thread::grid_dim_x(), thread::grid_dim_y());
        let block =
            (batch * tiles_short + thread::block_idx_y()) * tiles_long + thread::block_idx_x();
        let elements = self.tile_rows * self.tile_columns;
        let all_splits =
            workspace.wrapping_add(block as usize * scheduler.splits as usize * elements);
        GemvEpilogue {
            first_row: self.first_row,
            first_column: self.first_column,
            tile_rows: self.tile_rows,
            tile_columns: self.tile_columns,
            direct: DirectEpilogue::of_c(params, batch, c),
            swapped: self.swapped,
            splits: scheduler.splits as usize,
            all_splits,
            own_split: all_splits.wrapping_add(split as usize * elements),
            counter: workspace
                .wrapping_byte_sub(COUNTER_BYTES)
                .cast::<u32>()
                .wrapping_add(block as usize),
        }
    }
}

/// The epilogue of a block: C, or the workspace and the fix-up.
struct GemvEpilogue<T: Scalar> {
    first_row: usize,
    first_column: usize,
    tile_rows: usize,
    tile_columns: usize,
    /// C.
    direct: DirectEpilogue<T, LinearCombination<T>>,
    swapped: bool,
    /// The split-K factor. Where it is 1, the fields below are not used.
    splits: usize,
    /// Partial sums of all splits, `tile_rows` × `tile_columns` each.
    all_splits: *mut T,
    /// The partial sums of this block's split.
    own_split: *mut T,
    /// Counter of the splits whose partial sums are stored.
    counter: *mut u32,
}

impl<T: Scalar> GemvEpilogue<T> {
    /// Stores what this split computed for element (i, x) of the block tile: to C, if it has such
    /// an element, or to the workspace.
    ///
    /// # Safety
    /// The block tile has the element, and no other thread stores it. C and the workspace are as
    /// [`tile_config`](crate::gemm::tile_config) says.
    #[inline(always)]
    unsafe fn store_partial(&self, i: usize, x: usize, accumulator: T) {
        // SAFETY: the element is of the block tile, whose partial sums `own_split` has, and no
        // other thread stores it.
        unsafe {
            if self.splits == 1 {
                self.store(i, x, accumulator);
            } else {
                *self.own_split.add(i * self.tile_columns + x) = accumulator;
            }
        }
    }

    /// Stores the accumulator of element (i, x) of the block tile to C, if it has such an element.
    ///
    /// # Safety
    /// No other thread stores the element, and C is as [`tile_config`](crate::gemm::tile_config)
    /// says.
    #[inline(always)]
    unsafe fn store(&self, i: usize, x: usize, accumulator: T) {
        let (row, column) = (self.first_row + i, self.first_column + x);
        let (row, column) = if self.swapped {
            (column, row)
        } else {
            (row, column)
        };
        // SAFETY: `direct` describes C, which is as the contract of this function says, and no
        // other thread stores this element.
        unsafe { self.direct.store(row, column, accumulator) }
    }

    /// The fix-up: the last block to arrive reduces the partial sums of all splits, in their order.
    /// The whole block calls it, and a word of `memory`, which is shared memory, is overwritten.
    ///
    /// # Safety
    /// The block has stored all its partial sums. Before the workspace's partial sums lie
    /// [`COUNTER_BYTES`], zero before the launch. No other thread accesses the word of `memory`.
    #[inline(always)]
    unsafe fn fix_up(&self, memory: *mut u32) {
        // SAFETY: the counter is one of this tile's blocks only, and zero before the launch; no
        // other thread accesses `memory`.
        let is_last = || unsafe { is_last(&Block, self.counter, self.splits as u32, memory) };
        if self.splits == 1 || !is_last() {
            return;
        }
        let elements = self.tile_rows * self.tile_columns;
        let mut element = thread::thread_idx_x() as usize;
        while element < elements {
            let mut accumulator = T::ZERO;
            let mut split = 0;
            while split < self.splits {
                let mut loaded = [T::ZERO; SPLITS_IN_FLIGHT];
                for load in 0..SPLITS_IN_FLIGHT {
                    if split + load < self.splits {
                        // SAFETY: all splits have arrived, so their partial sums are stored.
                        loaded[load] =
                            unsafe { *self.all_splits.add((split + load) * elements + element) };
                    }
                }
                for load in 0..SPLITS_IN_FLIGHT {
                    accumulator += loaded[load];
                }
                split += SPLITS_IN_FLIGHT;
            }
            // SAFETY: one thread of the last block stores each element.
            unsafe {
                self.store(
                    element / self.tile_columns,
                    element % self.tile_columns,
                    accumulator,
                )
            };
            element += THREADS;
        }
    }
}

/// GEMV N, for block tiles of `BM` rows: the body of the entries `…gemv_n_…`. `outputs` are C and
/// the workspace.
///
/// # Safety
/// As [`tile_config`](crate::gemm::tile_config) says of the kernels.
#[inline(always)]
pub unsafe fn gemv_n<T: Scalar, const BM: usize>(
    operands: [*const T; 2],
    outputs: [*mut T; 2],
    params: GemmParams<T>,
    scheduler: GridSchedulerParams,
) {
    let reduction_buffer = shared_array![T; THREADS * VEC4];
    let gemv = Gemv::new(operands, &params, &scheduler, [BM, BLOCK_COLUMNS_N]);
    let t = thread::thread_idx_x() as usize;
    let (x, y) = (t % (BLOCK_COLUMNS_N / VEC4), t / (BLOCK_COLUMNS_N / VEC4));
    let column = gemv.first_column + x * VEC4;
    let vectors = column + VEC4 <= gemv.columns && gemv.long.vectors(gemv.long.stride_k);
    let mut accumulators = [[T::ZERO; VEC4]; BM];
    // SAFETY: operands, C and workspace are as the contract of this function says. The tests and
    // minima keep indices inside of the operands. Barriers separate writes and reads of the partial
    // sums in shared memory.
    unsafe {
        let mut k = gemv.start + y;
        while k < gemv.end {
            let mut long = [[T::ZERO; VEC4]; LOADS_IN_FLIGHT];
            for load in 0..LOADS_IN_FLIGHT {
                let k = k + load * THREADS_K;
                let from = gemv
                    .long
                    .start
                    .wrapping_add(k * gemv.long.stride_k + column);
                if k < gemv.end {
                    if vectors {
                        long[load] = T::load_4(from);
                    } else {
                        for q in 0..VEC4 {
                            if column + q < gemv.columns {
                                long[load][q] = *from.add(q);
                            }
                        }
                    }
                }
            }
            for load in 0..LOADS_IN_FLIGHT {
                let k = (k + load * THREADS_K).min(gemv.end - 1);
                for i in 0..BM {
                    let row = (gemv.first_row + i).min(gemv.rows - 1);
                    let short = *gemv
                        .short
                        .start
                        .add(row * gemv.short.stride_mn + k * gemv.short.stride_k);
                    for q in 0..VEC4 {
                        accumulators[i][q] = short.mul_add(long[load][q], accumulators[i][q]);
                    }
                }
            }
            k += LOADS_IN_FLIGHT * THREADS_K;
        }
        let epilogue = gemv.epilogue(outputs, &params, &scheduler);
        for i in 0..BM {
            for q in 0..VEC4 {
                *reduction_buffer.add(y * BLOCK_COLUMNS_N + x * VEC4 + q) = accumulators[i][q];
            }
            thread::sync_threads();
            if t < BLOCK_COLUMNS_N {
                let mut accumulator = T::ZERO;
                for thread_k in 0..THREADS_K {
                    accumulator += *reduction_buffer.add(thread_k * BLOCK_COLUMNS_N + t);
                }
                epilogue.store_partial(i, t, accumulator);
            }
            thread::sync_threads();
        }
        epilogue.fix_up(reduction_buffer.cast());
    }
}

/// GEMV T, for block tiles of `BM` rows: the body of the entries `…gemv_t_…`. `outputs` are C and
/// the workspace.
///
/// # Safety
/// As [`tile_config`](crate::gemm::tile_config) says of the kernels.
#[inline(always)]
pub unsafe fn gemv_t<T: Scalar, const BM: usize>(
    operands: [*const T; 2],
    outputs: [*mut T; 2],
    params: GemmParams<T>,
    scheduler: GridSchedulerParams,
) {
    let reduction_buffer = shared_array![T; MAX_SHORT_SIDE * WARPS * WN];
    const { assert!(BM <= MAX_SHORT_SIDE) };
    let columns = block_columns_t(scheduler.k_per_split);
    let gemv = Gemv::new(operands, &params, &scheduler, [BM, columns]);
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let warps_k = warps_k(scheduler.k_per_split as usize);
    // First column of the warp tile in the block tile.
    let warp_column = warp / warps_k * WN;
    // Splits of k start at multiples of RUN, so vec4s are aligned where rows are.
    let vectors = [
        gemv.short.stride_k == 1 && gemv.short.vectors(gemv.short.stride_mn),
        gemv.long.vectors(gemv.long.stride_mn),
    ];
    let load = |operand: &Strided<T>, vectors: bool, index: usize, k: usize| {
        // SAFETY: `index` is below the extent along m or n, and the tests keep k below the split's
        // end. A vec4 is loaded only where all rows are aligned.
        unsafe {
            let from = operand
                .start
                .wrapping_add(index * operand.stride_mn + k * operand.stride_k);
            let mut elements = [T::ZERO; VEC4];
            if vectors && k + VEC4 <= gemv.end {
                elements = T::load_4(from);
            } else {
                for q in 0..VEC4 {
                    if k + q < gemv.end {
                        elements[q] = *from.add(q * operand.stride_k);
                    }
                }
            }
            elements
        }
    };
    let mut accumulators = [[T::ZERO; WN]; BM];
    let mut k = gemv.start + warp % warps_k * RUN + lane * VEC4;
    while k < gemv.end {
        let mut long = [[T::ZERO; VEC4]; WN];
        for j in 0..WN {
            long[j] = load(
                &gemv.long,
                vectors[1],
                (gemv.first_column + warp_column + j).min(gemv.columns - 1),
                k,
            );
        }
        for i in 0..BM {
            let short = load(
                &gemv.short,
                vectors[0],
                (gemv.first_row + i).min(gemv.rows - 1),
                k,
            );
            for j in 0..WN {
                for q in 0..VEC4 {
                    accumulators[i][j] = short[q].mul_add(long[j][q], accumulators[i][j]);
                }
            }
        }
        k += warps_k * RUN;
    }
    let epilogue = gemv.epilogue(outputs, &params, &scheduler);
    // SAFETY: all lanes of the warp shuffle. A barrier lies between the writes of the partial sums
    // and their reads. One lane of one warp stores each element of the block tile.
    unsafe {
        for i in 0..BM {
            for j in 0..WN {
                let mut accumulator = accumulators[i][j];
                for step in 0..5 {
                    accumulator += warp::warp_shuffle_xor(u32::MAX, accumulator, 16 >> step, 32).0;
                }
                if lane == 0 {
                    *reduction_buffer.add((warp * BM + i) * WN + j) = accumulator;
                }
            }
        }
        thread::sync_threads();
        // The first of the warps that share columns reduces their partial sums.
        if warp % warps_k == 0 && lane < BM * WN {
            let mut accumulator = T::ZERO;
            for other in warp..warp + warps_k {
                accumulator += *reduction_buffer.add(other * BM * WN + lane);
            }
            epilogue.store_partial(lane / WN, warp_column + lane % WN, accumulator);
        }
        epilogue.fix_up(reduction_buffer.cast());
    }
}

macro_rules! gemv_kernels {
    ($(
        $body:ident, $element:ty, $short:literal: $name:ident, $blocks_per_sm:literal per SM;
    )*) => {
        $(
            #[doc = concat!(
                "[`", stringify!($body), "`] with block tiles of a short side of ", $short, "."
            )]
            ///
            /// # Safety
            /// See [`tile_config`](crate::gemm::tile_config).
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = $blocks_per_sm)]
            pub unsafe fn $name(
                a: &[$element],
                b: &[$element],
                c: *mut $element,
                workspace: *mut $element,
                params: GemmParams<$element>,
                scheduler: GridSchedulerParams,
            ) {
                // SAFETY: operands, C and workspace are as the kernel's contract says.
                unsafe {
                    $body::<$element, $short>(
                        [a.as_ptr(), b.as_ptr()], [c, workspace], params, scheduler,
                    )
                }
            }
        )*
    };
}

gemv_kernels! {
    gemv_n, f32, 1: sgemv_n_1, 4 per SM;
    gemv_n, f32, 4: sgemv_n_4, 2 per SM;
    gemv_t, f32, 1: sgemv_t_1, 3 per SM;
    gemv_t, f32, 4: sgemv_t_4, 2 per SM;
    gemv_n, f64, 1: dgemv_n_1, 3 per SM;
    gemv_n, f64, 4: dgemv_n_4, 1 per SM;
    gemv_t, f64, 1: dgemv_t_1, 2 per SM;
    gemv_t, f64, 4: dgemv_t_4, 1 per SM;
}

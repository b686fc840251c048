//! Products of which one side is short: `sgemm_rows_…` and `sgemm_dots_…`.
//!
//! # Idea
//! Where m or n is small, a product reads the long operand once and does little with it: it is as fast as memory. A tile
//! would be mostly empty. Here each element of the long operand goes from global memory into a register, is multiplied
//! with up to `SHORT` elements of the short one, and is forgotten. To have enough bytes on their way, k is split: among the
//! threads of a block, whose accumulators fix_up in shared memory, and among blocks ([`GemmParams::splits`]). These store_partial their accumulators in memory,
//! few as they are, and the last one adds them up: a second kernel would take longer than that to start.
//!
//! With n < m the kernels compute Cᵀ = op(B)ᵀ · op(A)ᵀ, so the short side is always that of the rows.
//!
//! # Thread mapping
//! `rows` is for a long operand whose rows run along its long side: 16 threads of a row of the block hold 4 columns each, and
//! the 16 rows of threads take every 16th k. `dots` is for one whose rows run along k: a warp has 4 columns, and each lane
//! takes 4 neighbouring elements along k; where k is long, up to 8 warps unit the columns and take runs of 128 in turn.
//!
//! # Preconditions
//! None. 128-bit loads where rows are aligned, single ones elsewhere.
//!
//! # What changed since the rung before
//! Against `sgemm`: no reuse from shared memory, only its opposite, the sum across threads.
//!
//! # Source
//! Beyond the sources.

use crate::gemm::GemmParams;
use crate::gemm::element::Scalar;
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::reduction::last_block::{COUNTER_BYTES, is_last_block};
use cuda_std::hint::opaque;
use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 256;

/// Columns of a block of `rows`.
pub const ROWS_COLUMNS: usize = 64;

/// Columns of a warp of `dots`.
const DOTS_COLUMNS: usize = 4;

const WARPS: usize = THREADS / 32;

/// Warps of a block of `dots` that unit columns, for parts of k of this extent: each has 4 runs or more.
const fn warps_along_k(depth: usize) -> usize {
    match depth / (4 * RUN) {
        0 | 1 => 1,
        2 | 3 => 2,
        4..8 => 4,
        _ => 8,
    }
}

/// Columns of a block of `dots`, for parts of k of this extent.
pub const fn dots_columns(k_per_split: u32) -> usize {
    DOTS_COLUMNS * (WARPS / warps_along_k(k_per_split as usize))
}

/// Elements that a thread loads side by side.
const VECTOR: usize = 4;

/// Rows of threads in a block of `rows`.
const ROWS_DEEP: usize = THREADS / (ROWS_COLUMNS / VECTOR);

/// Loads of the long operand that a thread of `rows` starts before it uses the first.
const AHEAD: usize = 4;

/// Elements along k that a warp of `dots` loads at once; parts of k start at multiples of it.
pub const RUN: usize = 32 * VECTOR;

/// The longest short side.
pub const MAX_SHORT_SIDE: usize = 8;

/// A matrix with a stride in each direction.
#[derive(Clone, Copy)]
struct Strided<T> {
    start: *const T,
    /// Distance of two elements along m or n.
    along: usize,
    /// Distance of two elements along k.
    along_k: usize,
}

impl<T> Strided<T> {
    fn new(start: *const T, leading: u32, rows_along_k: bool) -> Self {
        let (along, along_k) = if rows_along_k {
            (leading as usize, 1)
        } else {
            (1, leading as usize)
        };
        Strided {
            start,
            along,
            along_k,
        }
    }

    /// Whether 4 elements, from a multiple of 4 on, can be loaded as vectors where the other stride is `leading`.
    #[inline(always)]
    fn vectors(&self, leading: usize) -> bool {
        self.start.addr().is_multiple_of(16) && leading.is_multiple_of(VECTOR)
    }
}

/// Accumulators of other blocks that a thread loads before it adds the first.
const PARTS_AHEAD: usize = 8;

/// The product with its short side first, and what of it is this block's.
struct Gemv<T> {
    short: Strided<T>,
    long: Strided<T>,
    /// Its extents.
    rows: usize,
    columns: usize,
    /// This block's first row and column, and its extents.
    first_row: usize,
    first_column: usize,
    height: usize,
    width: usize,
    /// This block's part of k.
    start: usize,
    end: usize,
    /// Whether the short side is that of the columns.
    swapped: bool,
}

impl<T: Scalar> Gemv<T> {
    /// The product, of which a block has `height` × `width` elements.
    #[inline(always)]
    fn new([a, b]: [*const T; 2], gemm: &GemmParams<T>, [height, width]: [usize; 2]) -> Self {
        let z = thread::block_idx_z();
        let (batch, split) = ((z / gemm.splits) as usize, z % gemm.splits);
        let start = (split * gemm.k_per_split).min(gemm.k);
        let a = a.wrapping_add(batch * gemm.stride_a as usize);
        let b = b.wrapping_add(batch * gemm.stride_b as usize);
        let (m, n) = (gemm.m as usize, gemm.n as usize);
        let left = Strided::new(a, gemm.lda, gemm.transpose_a == 0);
        let right = Strided::new(b, gemm.ldb, gemm.transpose_b != 0);
        let swapped = n < m;
        // Blocks of neighbouring numbers read the same of the long operand: one of them from memory, the others from the L2 cache.
        let down = thread::grid_dim_y();
        let number = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
        Gemv {
            short: if swapped { right } else { left },
            long: if swapped { left } else { right },
            rows: m.min(n),
            columns: m.max(n),
            first_row: (number % down) as usize * height,
            first_column: (number / down) as usize * width,
            height,
            width,
            start: start as usize,
            end: (start + gemm.k_per_split).min(gemm.k) as usize,
            swapped,
        }
    }

    /// Where the block's accumulators go. It is found out by a number that the compiler does not know, so that it holds no registers
    /// through the loop before.
    #[inline(always)]
    fn epilogue(&self, [c, partials]: [*mut T; 2], gemm: &GemmParams<T>) -> GemvEpilogue<T> {
        let z = opaque(thread::block_idx_z() as usize) as u32;
        let (batch, split) = (z / gemm.splits, z % gemm.splits);
        let (across, down) = (thread::grid_dim_x(), thread::grid_dim_y());
        let block = (batch * down + thread::block_idx_y()) * across + thread::block_idx_x();
        let elements = self.height * self.width;
        let parts = partials.wrapping_add(block as usize * gemm.splits as usize * elements);
        GemvEpilogue {
            first_row: self.first_row,
            first_column: self.first_column,
            height: self.height,
            width: self.width,
            epilogue: LinearCombination::of_c(gemm, batch, c),
            swapped: self.swapped,
            splits: gemm.splits as usize,
            parts,
            part: parts.wrapping_add(split as usize * elements),
            count: partials
                .wrapping_byte_sub(COUNTER_BYTES)
                .cast::<u32>()
                .wrapping_add(block as usize),
        }
    }
}

/// Where a block's accumulators go.
struct GemvEpilogue<T: Scalar> {
    first_row: usize,
    first_column: usize,
    height: usize,
    width: usize,
    /// C.
    epilogue: LinearCombination<T>,
    swapped: bool,
    /// Into how many parts k is split. With one there is none of the following.
    splits: usize,
    /// Accumulators of all parts of k, `height` × `width` each.
    parts: *mut T,
    /// Those of this block's.
    part: *mut T,
    /// The number of those that are there.
    count: *mut u32,
}

impl<T: Scalar> GemvEpilogue<T> {
    /// Leaves the sum for element (i, x) of the block: in C, if there is such an element, or with those of its part of k.
    ///
    /// # Safety
    /// No other thread owns the element, and the block has it.
    #[inline(always)]
    unsafe fn store_partial(&self, i: usize, x: usize, sum: T) {
        // SAFETY: the caller ensures it.
        unsafe {
            if self.splits == 1 {
                self.store(i, x, sum);
            } else {
                *self.part.add(i * self.width + x) = sum;
            }
        }
    }

    /// Stores the sum for element (i, x) of the block in C, if there is such an element.
    ///
    /// # Safety
    /// No other thread owns the element.
    #[inline(always)]
    unsafe fn store(&self, i: usize, x: usize, sum: T) {
        let (row, column) = (self.first_row + i, self.first_column + x);
        let (row, column) = if self.swapped {
            (column, row)
        } else {
            (row, column)
        };
        // SAFETY: passed on to the caller.
        unsafe { self.epilogue.store(row, column, sum) }
    }

    /// Adds up the accumulators of all parts of k, in their order, in the block that has left its own last. The whole block calls it,
    /// and a word of `memory`, which is shared memory, is overwritten.
    ///
    /// # Safety
    /// Every element has been left; before the partial accumulators lie [`COUNTER_BYTES`], zero before the launch.
    #[inline(always)]
    unsafe fn fix_up(&self, memory: *mut u32) {
        // SAFETY: the caller ensures the counts.
        if self.splits == 1 || !unsafe { is_last_block(self.count, self.splits as u32, memory) } {
            return;
        }
        let elements = self.height * self.width;
        let mut element = thread::thread_idx_x() as usize;
        while element < elements {
            let mut sum = T::ZERO;
            let mut part = 0;
            while part < self.splits {
                let mut others = [T::ZERO; PARTS_AHEAD];
                for ahead in 0..PARTS_AHEAD {
                    if part + ahead < self.splits {
                        // SAFETY: all parts have been left.
                        others[ahead] =
                            unsafe { *self.parts.add((part + ahead) * elements + element) };
                    }
                }
                for ahead in 0..PARTS_AHEAD {
                    sum += others[ahead];
                }
                part += PARTS_AHEAD;
            }
            // SAFETY: each element has one thread of one block.
            unsafe { self.store(element / self.width, element % self.width, sum) };
            element += THREADS;
        }
    }
}

/// The body of `rows`.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn rows<T: Scalar, const SHORT: usize>(
    operands: [*const T; 2],
    epilogue: [*mut T; 2],
    gemm: GemmParams<T>,
) {
    let shared_sums = shared_array![T; THREADS * VECTOR];
    let gemv = Gemv::new(operands, &gemm, [SHORT, ROWS_COLUMNS]);
    let t = thread::thread_idx_x() as usize;
    let (x, y) = (t % (ROWS_COLUMNS / VECTOR), t / (ROWS_COLUMNS / VECTOR));
    let column = gemv.first_column + x * VECTOR;
    let whole = column + VECTOR <= gemv.columns && gemv.long.vectors(gemv.long.along_k);
    let mut accumulators = [[T::ZERO; VECTOR]; SHORT];
    // SAFETY: indices are below the extents by the tests and minima; accumulators fix_up between barriers.
    unsafe {
        let mut k = gemv.start + y;
        while k < gemv.end {
            let mut long = [[T::ZERO; VECTOR]; AHEAD];
            for ahead in 0..AHEAD {
                let k = k + ahead * ROWS_DEEP;
                let from = gemv.long.start.wrapping_add(k * gemv.long.along_k + column);
                if k < gemv.end {
                    if whole {
                        long[ahead] = T::load_4(from);
                    } else {
                        for q in 0..VECTOR {
                            if column + q < gemv.columns {
                                long[ahead][q] = *from.add(q);
                            }
                        }
                    }
                }
            }
            for ahead in 0..AHEAD {
                let k = (k + ahead * ROWS_DEEP).min(gemv.end - 1);
                for i in 0..SHORT {
                    let row = (gemv.first_row + i).min(gemv.rows - 1);
                    let factor = *gemv
                        .short
                        .start
                        .add(row * gemv.short.along + k * gemv.short.along_k);
                    for q in 0..VECTOR {
                        accumulators[i][q] = factor.mul_add(long[ahead][q], accumulators[i][q]);
                    }
                }
            }
            k += AHEAD * ROWS_DEEP;
        }
        let epilogue = gemv.epilogue(epilogue, &gemm);
        for i in 0..SHORT {
            for q in 0..VECTOR {
                *shared_sums.add(y * ROWS_COLUMNS + x * VECTOR + q) = accumulators[i][q];
            }
            thread::sync_threads();
            if t < ROWS_COLUMNS {
                let mut sum = T::ZERO;
                for part in 0..ROWS_DEEP {
                    sum += *shared_sums.add(part * ROWS_COLUMNS + t);
                }
                epilogue.store_partial(i, t, sum);
            }
            thread::sync_threads();
        }
        epilogue.fix_up(shared_sums.cast());
    }
}

/// The body of `dots`.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn dots<T: Scalar, const SHORT: usize>(
    operands: [*const T; 2],
    epilogue: [*mut T; 2],
    gemm: GemmParams<T>,
) {
    let shared_sums = shared_array![T; MAX_SHORT_SIDE * WARPS * DOTS_COLUMNS];
    const { assert!(SHORT <= MAX_SHORT_SIDE) };
    let columns = dots_columns(gemm.k_per_split);
    let gemv = Gemv::new(operands, &gemm, [SHORT, columns]);
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let sharing = warps_along_k(gemm.k_per_split as usize);
    // The warp's columns are from there on in the block's.
    let first_x = warp / sharing * DOTS_COLUMNS;
    // Parts of k start at multiples of RUN, so vectors are aligned where rows are.
    let vectors = [
        gemv.short.along_k == 1 && gemv.short.vectors(gemv.short.along),
        gemv.long.vectors(gemv.long.along),
    ];
    let load = |operand: &Strided<T>, vectors: bool, index: usize, k: usize| {
        // SAFETY: inside of the operand by the tests.
        unsafe {
            let from = operand
                .start
                .wrapping_add(index * operand.along + k * operand.along_k);
            let mut elements = [T::ZERO; VECTOR];
            if vectors && k + VECTOR <= gemv.end {
                elements = T::load_4(from);
            } else {
                for q in 0..VECTOR {
                    if k + q < gemv.end {
                        elements[q] = *from.add(q * operand.along_k);
                    }
                }
            }
            elements
        }
    };
    let mut accumulators = [[T::ZERO; DOTS_COLUMNS]; SHORT];
    let mut k = gemv.start + warp % sharing * RUN + lane * VECTOR;
    while k < gemv.end {
        let mut long = [[T::ZERO; VECTOR]; DOTS_COLUMNS];
        for j in 0..DOTS_COLUMNS {
            long[j] = load(
                &gemv.long,
                vectors[1],
                (gemv.first_column + first_x + j).min(gemv.columns - 1),
                k,
            );
        }
        for i in 0..SHORT {
            let short = load(
                &gemv.short,
                vectors[0],
                (gemv.first_row + i).min(gemv.rows - 1),
                k,
            );
            for j in 0..DOTS_COLUMNS {
                for q in 0..VECTOR {
                    accumulators[i][j] = short[q].mul_add(long[j][q], accumulators[i][j]);
                }
            }
        }
        k += sharing * RUN;
    }
    let epilogue = gemv.epilogue(epilogue, &gemm);
    // SAFETY: all lanes are here; accumulators fix_up before and are read after the barrier.
    unsafe {
        for i in 0..SHORT {
            for j in 0..DOTS_COLUMNS {
                let mut sum = accumulators[i][j];
                for step in 0..5 {
                    sum += warp::warp_shuffle_xor(u32::MAX, sum, 16 >> step, 32).0;
                }
                if lane == 0 {
                    *shared_sums.add((warp * SHORT + i) * DOTS_COLUMNS + j) = sum;
                }
            }
        }
        thread::sync_threads();
        // The first of the warps that unit columns adds up.
        if warp % sharing == 0 && lane < SHORT * DOTS_COLUMNS {
            let mut sum = T::ZERO;
            for other in warp..warp + sharing {
                sum += *shared_sums.add(other * SHORT * DOTS_COLUMNS + lane);
            }
            epilogue.store_partial(lane / DOTS_COLUMNS, first_x + lane % DOTS_COLUMNS, sum);
        }
        epilogue.fix_up(shared_sums.cast());
    }
}

macro_rules! skinny_kernels {
    ($($body:ident, $element:ty, $short:literal: $name:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($body), "` with a short side of up to ", $short, " in a block.")]
            ///
            /// # Safety
            /// See [`instance`](crate::gemm::tile_config).
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(
                a: &[$element],
                b: &[$element],
                c: *mut $element,
                partials: *mut $element,
                gemm: GemmParams<$element>,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { $body::<$element, $short>([a.as_ptr(), b.as_ptr()], [c, partials], gemm) }
            }
        )*
    };
}

skinny_kernels! {
    rows, f32, 1: sgemm_rows_1;
    rows, f32, 4: sgemm_rows_4;
    dots, f32, 1: sgemm_dots_1;
    dots, f32, 4: sgemm_dots_4;
    rows, f64, 1: dgemm_rows_1;
    rows, f64, 4: dgemm_rows_4;
    dots, f64, 1: dgemm_dots_1;
    dots, f64, 4: dgemm_dots_4;
}

//! Products of which one side is short: `sgemm_rows_…` and `sgemm_dots_…`.
//!
//! # Idea
//! Where m or n is small, a product reads the long operand once and does little with it: it is as fast as memory. A tile
//! would be mostly empty. Here each element of the long operand goes from global memory into a register, is multiplied
//! with up to `SHORT` elements of the short one, and is forgotten. To have enough bytes on their way, k is split: among the
//! threads of a block, whose sums meet in shared memory, and among blocks ([`Gemm::splits`]).
//!
//! With n < m the kernels compute Cᵀ = op(B)ᵀ · op(A)ᵀ, so the short side is always that of the rows.
//!
//! # Thread mapping
//! `rows` is for a long operand whose rows run along its long side: 16 threads of a row of the block hold 4 columns each, and
//! the 16 rows of threads take every 16th k. `dots` is for one whose rows run along k: a warp has 4 columns, and each lane
//! takes 4 neighbouring elements along k; where k is long, up to 8 warps share the columns and take runs of 128 in turn.
//!
//! # Preconditions
//! None. 128-bit loads where rows are aligned, single ones elsewhere.
//!
//! # What changed since the rung before
//! Against `sgemm`: no reuse from shared memory, only its opposite, the sum across threads.
//!
//! # Source
//! Beyond the sources.

use super::scalar::Scalar;
use super::{Gemm, Target};
use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 256;

/// Columns of a block of `rows`.
pub const ROWS_COLUMNS: usize = 64;

/// Columns of a warp of `dots`.
const DOTS_COLUMNS: usize = 4;

const WARPS: usize = THREADS / 32;

/// Warps of a block of `dots` that share columns, for parts of k of this extent: each has 4 runs or more.
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
const SIDE_BY_SIDE: usize = 4;

/// Rows of threads in a block of `rows`.
const ROWS_DEEP: usize = THREADS / (ROWS_COLUMNS / SIDE_BY_SIDE);

/// Loads of the long operand that a thread of `rows` starts before it uses the first.
const AHEAD: usize = 4;

/// Elements along k that a warp of `dots` loads at once; parts of k start at multiples of it.
pub const RUN: usize = 32 * SIDE_BY_SIDE;

/// The longest short side.
pub const MOST_SHORT: usize = 8;

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
        self.start.addr().is_multiple_of(16) && leading.is_multiple_of(SIDE_BY_SIDE)
    }
}

/// The product with its short side first.
struct Skinny<T> {
    short: Strided<T>,
    long: Strided<T>,
    /// Its extents.
    rows: usize,
    columns: usize,
    /// This block's part of k.
    start: usize,
    end: usize,
    target: Target<T>,
    /// Whether the short side is that of the columns.
    swapped: bool,
}

impl<T: Scalar> Skinny<T> {
    #[inline(always)]
    fn new(a: *const T, b: *const T, c: *mut T, partials: *mut T, gemm: &Gemm<T>) -> Self {
        let z = thread::block_idx_z();
        let (batch, split) = ((z / gemm.splits) as usize, z % gemm.splits);
        let start = (split * gemm.k_per_split).min(gemm.k);
        let a = a.wrapping_add(batch * gemm.stride_a as usize);
        let b = b.wrapping_add(batch * gemm.stride_b as usize);
        let (m, n) = (gemm.m as usize, gemm.n as usize);
        let target = if gemm.splits > 1 {
            Target {
                columns: n,
                ..Target::of_part(gemm, [batch as u32, split], partials)
            }
        } else {
            Target::of_c(gemm, batch as u32, c)
        };
        let left = Strided::new(a, gemm.lda, gemm.transpose_a == 0);
        let right = Strided::new(b, gemm.ldb, gemm.transpose_b != 0);
        let swapped = n < m;
        Skinny {
            short: if swapped { right } else { left },
            long: if swapped { left } else { right },
            rows: m.min(n),
            columns: m.max(n),
            start: start as usize,
            end: (start + gemm.k_per_split).min(gemm.k) as usize,
            target,
            swapped,
        }
    }

    /// Stores the sum for an element, if there is one.
    ///
    /// # Safety
    /// No other thread owns the element.
    #[inline(always)]
    unsafe fn store(&self, row: usize, column: usize, sum: T) {
        let (row, column) = if self.swapped {
            (column, row)
        } else {
            (row, column)
        };
        // SAFETY: passed on to the caller.
        unsafe { self.target.store(row, column, sum) }
    }
}

/// The body of `rows`.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn rows<T: Scalar, const SHORT: usize>(
    [a, b]: [*const T; 2],
    [c, partials]: [*mut T; 2],
    gemm: Gemm<T>,
) {
    let meeting = shared_array![T; THREADS * SIDE_BY_SIDE];
    let skinny = Skinny::new(a, b, c, partials, &gemm);
    let t = thread::thread_idx_x() as usize;
    let (x, y) = (
        t % (ROWS_COLUMNS / SIDE_BY_SIDE),
        t / (ROWS_COLUMNS / SIDE_BY_SIDE),
    );
    let column = thread::block_idx_x() as usize * ROWS_COLUMNS + x * SIDE_BY_SIDE;
    let first_row = thread::block_idx_y() as usize * SHORT;
    let whole = column + SIDE_BY_SIDE <= skinny.columns && skinny.long.vectors(skinny.long.along_k);
    let mut sums = [[T::ZERO; SIDE_BY_SIDE]; SHORT];
    // SAFETY: indices are below the extents by the tests and minima; sums meet between barriers.
    unsafe {
        let mut k = skinny.start + y;
        while k < skinny.end {
            let mut long = [[T::ZERO; SIDE_BY_SIDE]; AHEAD];
            for ahead in 0..AHEAD {
                let k = k + ahead * ROWS_DEEP;
                let from = skinny
                    .long
                    .start
                    .wrapping_add(k * skinny.long.along_k + column);
                if k < skinny.end {
                    if whole {
                        long[ahead] = T::load_4(from);
                    } else {
                        for q in 0..SIDE_BY_SIDE {
                            if column + q < skinny.columns {
                                long[ahead][q] = *from.add(q);
                            }
                        }
                    }
                }
            }
            for ahead in 0..AHEAD {
                let k = (k + ahead * ROWS_DEEP).min(skinny.end - 1);
                for i in 0..SHORT {
                    let row = (first_row + i).min(skinny.rows - 1);
                    let factor = *skinny
                        .short
                        .start
                        .add(row * skinny.short.along + k * skinny.short.along_k);
                    for q in 0..SIDE_BY_SIDE {
                        sums[i][q] = factor.mul_add(long[ahead][q], sums[i][q]);
                    }
                }
            }
            k += AHEAD * ROWS_DEEP;
        }
        for i in 0..SHORT {
            for q in 0..SIDE_BY_SIDE {
                *meeting.add(y * ROWS_COLUMNS + x * SIDE_BY_SIDE + q) = sums[i][q];
            }
            thread::sync_threads();
            if t < ROWS_COLUMNS {
                let mut sum = T::ZERO;
                for part in 0..ROWS_DEEP {
                    sum += *meeting.add(part * ROWS_COLUMNS + t);
                }
                skinny.store(
                    first_row + i,
                    thread::block_idx_x() as usize * ROWS_COLUMNS + t,
                    sum,
                );
            }
            thread::sync_threads();
        }
    }
}

/// The body of `dots`.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn dots<T: Scalar, const SHORT: usize>(
    [a, b]: [*const T; 2],
    [c, partials]: [*mut T; 2],
    gemm: Gemm<T>,
) {
    let meeting = shared_array![T; MOST_SHORT * WARPS * DOTS_COLUMNS];
    const { assert!(SHORT <= MOST_SHORT) };
    let skinny = Skinny::new(a, b, c, partials, &gemm);
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let sharing = warps_along_k(gemm.k_per_split as usize);
    let first_column =
        (thread::block_idx_x() as usize * (WARPS / sharing) + warp / sharing) * DOTS_COLUMNS;
    let first_row = thread::block_idx_y() as usize * SHORT;
    // Parts of k start at multiples of RUN, so vectors are aligned where rows are.
    let vectors = [
        skinny.short.along_k == 1 && skinny.short.vectors(skinny.short.along),
        skinny.long.vectors(skinny.long.along),
    ];
    let load = |operand: &Strided<T>, vectors: bool, index: usize, k: usize| {
        // SAFETY: inside of the operand by the tests.
        unsafe {
            let from = operand
                .start
                .wrapping_add(index * operand.along + k * operand.along_k);
            let mut elements = [T::ZERO; SIDE_BY_SIDE];
            if vectors && k + SIDE_BY_SIDE <= skinny.end {
                elements = T::load_4(from);
            } else {
                for q in 0..SIDE_BY_SIDE {
                    if k + q < skinny.end {
                        elements[q] = *from.add(q * operand.along_k);
                    }
                }
            }
            elements
        }
    };
    let mut sums = [[T::ZERO; DOTS_COLUMNS]; SHORT];
    let mut k = skinny.start + warp % sharing * RUN + lane * SIDE_BY_SIDE;
    while k < skinny.end {
        let mut long = [[T::ZERO; SIDE_BY_SIDE]; DOTS_COLUMNS];
        for j in 0..DOTS_COLUMNS {
            long[j] = load(
                &skinny.long,
                vectors[1],
                (first_column + j).min(skinny.columns - 1),
                k,
            );
        }
        for i in 0..SHORT {
            let short = load(
                &skinny.short,
                vectors[0],
                (first_row + i).min(skinny.rows - 1),
                k,
            );
            for j in 0..DOTS_COLUMNS {
                for q in 0..SIDE_BY_SIDE {
                    sums[i][j] = short[q].mul_add(long[j][q], sums[i][j]);
                }
            }
        }
        k += sharing * RUN;
    }
    // SAFETY: all lanes are here; sums meet before and are read after the barrier.
    unsafe {
        for i in 0..SHORT {
            for j in 0..DOTS_COLUMNS {
                let mut sum = sums[i][j];
                for step in 0..5 {
                    sum += warp::warp_shuffle_xor(u32::MAX, sum, 16 >> step, 32).0;
                }
                if lane == 0 {
                    *meeting.add((warp * SHORT + i) * DOTS_COLUMNS + j) = sum;
                }
            }
        }
        thread::sync_threads();
        // The first of the warps that share columns adds up.
        if warp % sharing == 0 && lane < SHORT * DOTS_COLUMNS {
            let mut sum = T::ZERO;
            for other in warp..warp + sharing {
                sum += *meeting.add(other * SHORT * DOTS_COLUMNS + lane);
            }
            skinny.store(
                first_row + lane / DOTS_COLUMNS,
                first_column + lane % DOTS_COLUMNS,
                sum,
            );
        }
    }
}

macro_rules! skinny_kernels {
    ($($body:ident, $element:ty, $short:literal: $name:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($body), "` with a short side of up to ", $short, " in a block.")]
            ///
            /// # Safety
            /// See [`instance`](super::instance).
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 1)]
            pub unsafe fn $name(
                a: &[$element],
                b: &[$element],
                c: *mut $element,
                partials: *mut $element,
                gemm: Gemm<$element>,
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

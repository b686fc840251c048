//! `add_parts_f32`, `add_parts_f16`, `add_parts_bf16`: the parts of shared tiles, added up by a launch of its own.
//!
//! # Idea
//! Who brings the last part of a tile reads all of them alone, while most multiprocessors stand still: five parts of 128 × 192 take a
//! quarter of the time of 768 × 768 × 16384. Here all multiprocessors read. To launch takes a while too, so that it pays where there is much
//! to read.
//!
//! # Thread mapping
//! Blocks of 128 threads. A thread adds up one vector of each part: the four sums of a lane that are two neighbours in two rows of C. The
//! threads of a block have the vectors that lie one behind the other, and are the lanes that have summed them.
//!
//! # Preconditions
//! Those of the product.
//!
//! # What changed since the rung before
//! It is the second half of a product whose tiles are shared.
//!
//! # Source
//! Beyond the sources.

use super::schedule::{Corner, Part, Schedule, Tiles};
use super::store::{self, Paired, VECTOR};
use super::tiles::{ROWS, WARPGROUP};
use crate::gemm::Gemm;
use cuda_std::dependent;
use cuda_std::narrow::{Brain, Half};
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Threads of a block.
pub const THREADS: usize = WARPGROUP;

/// Parts that are on their way to a thread at a time.
const AT_ONCE: usize = 8;

/// Blocks that so many shared tiles take, of so many rows and columns.
pub const fn blocks(shared: u32, [rows, columns]: [u32; 2]) -> u32 {
    shared * (rows / ROWS as u32) * vectors(columns)
}

/// How often a thread reads where there are so many parts.
pub const fn rounds(parts: u32) -> u32 {
    parts.div_ceil(AT_ONCE as u32)
}

/// Vectors of a thread in tiles of so many columns.
const fn vectors(columns: u32) -> u32 {
    (store::part_elements(columns as usize) / VECTOR / THREADS) as u32
}

/// The sums of this thread's vector in all parts, in their order, as [`store::add_up`] has it. `part` gives the place of each.
///
/// # Safety
/// The launch before has stored the parts.
#[inline(always)]
unsafe fn add_up(count: u32, vector: u32, part: impl Fn(u32) -> *mut f32) -> [f32; VECTOR] {
    let mut sums = [0.0; VECTOR];
    for round in 0..rounds(count) {
        let mut more = [[0.0; VECTOR]; AT_ONCE];
        for i in 0..AT_ONCE {
            let index = round * AT_ONCE as u32 + i as u32;
            if index < count {
                // SAFETY: the caller ensures it.
                more[i] = unsafe { F32x4::load(store::place_of(part(index), vector as usize)) };
            }
        }
        for i in 0..AT_ONCE {
            for j in 0..VECTOR {
                sums[j] += more[i][j];
            }
        }
    }
    sums
}

/// C as this launch stores to it.
struct Target<'a, C> {
    c: *mut C,
    gemm: &'a Gemm<f32>,
    /// Where the rows of a warpgroup begin.
    corner: Corner,
    /// Whether C lies column by column.
    is_turned: bool,
    /// Whether neighbours in a row can be stored together.
    by_pairs: bool,
}

impl<C: Paired> Target<'_, C> {
    /// The place of this thread's sum of a register; `None` where it is outside of C.
    #[inline(always)]
    fn place(&self, register: usize) -> Option<*mut C> {
        let [row, column] = store::place(register, self.is_turned);
        let (row, column) = (
            self.corner.row as usize + row,
            self.corner.column as usize + column,
        );
        let ldc = self.gemm.ldc as usize;
        let within = if self.is_turned {
            column * ldc + row
        } else {
            row * ldc + column
        };
        let matrix = self.corner.matrix as usize * self.gemm.stride_c as usize;
        (row < self.gemm.m as usize && column < self.gemm.n as usize)
            .then(|| self.c.wrapping_add(matrix + within))
    }

    /// C ← α · sums + β · C for the four registers from `first` on.
    ///
    /// # Safety
    /// `c` and `gemm` are as the kernel's. Nobody else stores there.
    #[inline(always)]
    unsafe fn store(&self, mut sums: [f32; VECTOR], first: usize) {
        for i in 0..VECTOR {
            sums[i] *= self.gemm.alpha;
            if self.gemm.beta != 0.0
                && let Some(place) = self.place(first + i)
            {
                // SAFETY: inside of C.
                let old = unsafe { (*place).widen() };
                sums[i] = self.gemm.beta.mul_add(old, sums[i]);
            }
        }
        for pair in 0..VECTOR / 2 {
            let i = 2 * pair;
            let (left, right) = (self.place(first + i), self.place(first + i + 1));
            // SAFETY: inside of C; pairs are aligned where C can be stored by them.
            unsafe {
                if let (true, Some(left), Some(_)) = (self.by_pairs, left, right) {
                    C::store_pair(left, sums[i], sums[i + 1]);
                    continue;
                }
                if let Some(left) = left {
                    *left = C::narrow(sums[i]);
                }
                if let Some(right) = right {
                    *right = C::narrow(sums[i + 1]);
                }
            }
        }
    }
}

/// The body of the kernels.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn body<C: Paired>(
    (c, workspace): (*mut C, *mut f32),
    gemm: &Gemm<f32>,
    schedule: &Schedule,
    [rows, columns]: [u32; 2],
    is_turned: bool,
) {
    dependent::let_next_begin();
    let warpgroups = rows / ROWS as u32;
    let (vector, number) = (
        thread::block_idx_x() % vectors(columns),
        thread::block_idx_x() / vectors(columns),
    );
    let (warpgroup, tile) = (number % warpgroups, number / warpgroups);
    let tiles =
        Tiles::new([gemm.m, gemm.n], [rows, columns], schedule.batch).in_groups(schedule.group);
    let corner = tiles.corner(tile);
    let partials = workspace.wrapping_add(schedule.partials as usize);
    let all = Part {
        tile,
        index: 0,
        count: schedule.parts,
    };
    let part = |index| {
        let number = all.number(index) * warpgroups + warpgroup;
        store::part(partials, number as usize, columns as usize)
    };
    let target = Target {
        c,
        gemm,
        corner: Corner {
            row: corner.row + warpgroup * ROWS as u32,
            ..corner
        },
        is_turned,
        // What bulk copies can store begins at multiples of 16 bytes.
        by_pairs: schedule.bulk != 0 && !is_turned,
    };
    dependent::wait_for_previous();
    // SAFETY: the launch before is done; the caller ensures the rest.
    unsafe {
        let sums = add_up(all.count, vector, part);
        target.store(sums, VECTOR * vector as usize);
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $element:ty;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `c`, `workspace`, `gemm` and `schedule` are those of the launch before, whose tiles have so many rows and columns; `turned` is 1
            /// where C lies column by column, and 0 elsewhere. The grid has [`blocks`] in x.
            #[cuda_std::kernel(max_threads = THREADS as u32, min_blocks = 12)]
            pub unsafe fn $name(
                c: *mut $element,
                workspace: *mut f32,
                gemm: Gemm<f32>,
                schedule: Schedule,
                rows: u32,
                columns: u32,
                turned: u32,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { body((c, workspace), &gemm, &schedule, [rows, columns], turned != 0) }
            }
        )*
    };
}

kernels! {
    /// C has elements of `f32`.
    add_parts_f32: f32;
    /// C has elements of IEEE binary16.
    add_parts_f16: Half;
    /// C has elements of bfloat16.
    add_parts_bf16: Brain;
}

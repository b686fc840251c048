//! The parts of `dgemm` that generations share: all but the shape of the tensor cores' products.

use super::meet::meet;
use super::operand::{Loader, PADDING, Panel};
use super::ring::Ring;
use super::{Gemm, Target, Task};
use cuda_std::async_copy::SharedAddress;
use cuda_std::prelude::*;
use cuda_std::vector::{F64x2, Vector};

/// Rows or columns of two pieces of an operand, and their extent along k.
const PAIR: usize = 16;
const PIECE_DEPTH: usize = 4;

/// The tile of a warp.
const WARP_ROWS: usize = 64;
const WARP_COLUMNS: usize = 32;

/// Pairs of pieces of A in a warp's tile.
pub const PAIRS_A: usize = WARP_ROWS / PAIR;
/// Pairs of pieces of B in a warp's tile.
pub const PAIRS_B: usize = WARP_COLUMNS / PAIR;

/// What a lane multiplies for 4 k: an element of each piece.
#[derive(Clone, Copy)]
pub struct Fragments {
    /// Of A, two for each pair.
    pub a: [[f64; 2]; PAIRS_A],
    /// Of B.
    pub b: [[f64; 2]; PAIRS_B],
}

impl Fragments {
    /// Loads the fragments of a tile's 4 rows along k.
    ///
    /// # Safety
    /// The places are in a full stage and 16-byte aligned.
    #[inline(always)]
    unsafe fn load(&mut self, a: *const f64, b: *const f64) {
        // SAFETY: the caller ensures it.
        unsafe {
            for i in 0..PAIRS_A {
                self.a[i] = F64x2::load(a.add(i * PAIR));
            }
            for j in 0..PAIRS_B {
                self.b[j] = F64x2::load(b.add(j * PAIR));
            }
        }
    }
}

/// A lane's sums: for each pair of A and of B and each of the four products of their pieces, two neighbours in a row.
pub type Sums = [[[[[f64; 2]; 2]; 2]; PAIRS_B]; PAIRS_A];

/// The product, for tiles of `BM` × `BN`, `BK` deep. `multiply` adds the products of fragments.
///
/// # Safety
/// As for the kernels; `memory` has `ring::shared_bytes::<f64>([BM, BN, BK], STAGES)` bytes, aligned to 16.
#[inline(always)]
pub unsafe fn body<
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const THREADS: usize,
    const STAGES: usize,
    const WAY_A: u32,
    const WAY_B: u32,
>(
    memory: *mut f64,
    [a, b]: [*const f64; 2],
    [c, partials]: [*mut f64; 2],
    gemm: Gemm<f64>,
    multiply: impl Fn(&mut Sums, &Fragments),
) {
    const {
        assert!(BM * BN / (WARP_ROWS * WARP_COLUMNS) * 32 == THREADS);
        assert!(BK.is_multiple_of(2 * PIECE_DEPTH) && STAGES >= 3);
    }
    let task = Task::of_this_block(&gemm, BM as u32, BN as u32);
    let mut left = Loader::<f64, WAY_A, BM, BK, THREADS>::new(&Panel {
        matrix: a.wrapping_add(task.batch as usize * gemm.stride_a as usize),
        leading: gemm.lda,
        extent: gemm.m,
        first: task.row,
        start: task.start,
    });
    let mut right = Loader::<f64, WAY_B, BN, BK, THREADS>::new(&Panel {
        matrix: b.wrapping_add(task.batch as usize * gemm.stride_b as usize),
        leading: gemm.ldb,
        extent: gemm.n,
        first: task.column,
        start: task.start,
    });
    let (pitch_a, pitch_b) = (BM + PADDING, BN + PADDING);
    let words_a = BK * pitch_a;
    let stage_words = BK * (pitch_a + pitch_b);
    let shared = SharedAddress::of(memory);
    let stage = |index: u32| shared.at(index * (stage_words * size_of::<f64>()) as u32);
    let right_of = |stage: SharedAddress| stage.at((words_a * size_of::<f64>()) as u32);

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let across = BN / WARP_COLUMNS;
    let (warp_row, warp_column) = (warp / across * WARP_ROWS, warp % across * WARP_COLUMNS);
    let (group, in_group) = (lane / 4, lane % 4);

    // SAFETY: zero is a valid float.
    let mut sums: Sums = unsafe { core::mem::zeroed() };
    let tiles = task.depth.div_ceil(BK as u32);
    // SAFETY: the caller ensures the memory and the operands. Stages are filled only when empty and read only when full,
    // by the ring.
    unsafe {
        let mut ring = Ring::<STAGES>::new(
            SharedAddress::of(memory.add(STAGES * stage_words)),
            THREADS as u32,
        );
        let mut copied = 0;
        let mut depth = task.depth - tiles.saturating_sub(1) * BK as u32;
        while copied < tiles && copied < STAGES as u32 - 2 {
            left.copy_part(stage(ring.write), depth);
            right.copy_part(right_of(stage(ring.write)), depth);
            ring.filled();
            depth = BK as u32;
            copied += 1;
        }
        if tiles > 0 {
            ring.wait_full();
            let first_a = memory.add(in_group * pitch_a + warp_row + 2 * group);
            let first_b = memory.add(words_a + in_group * pitch_b + warp_column + 2 * group);
            let (mut from_a, mut from_b) = (first_a, first_b);
            let steps = BK / PIECE_DEPTH;
            let mut fragments: [Fragments; 2] = core::mem::zeroed();
            fragments[0].load(from_a, from_b);
            let mut tile = 1;
            while tile <= tiles {
                let reading = ring.read;
                for step in 0..steps {
                    if step + 1 < steps {
                        let k = (step + 1) * PIECE_DEPTH;
                        fragments[(step + 1) % 2]
                            .load(from_a.add(k * pitch_a), from_b.add(k * pitch_b));
                    } else {
                        ring.next();
                        // After the last tile the fragments are loaded once more from where they were, for nothing.
                        if tile < tiles {
                            ring.wait_both();
                            from_a = first_a.add(ring.read as usize * stage_words);
                            from_b = first_b.add(ring.read as usize * stage_words);
                        }
                        fragments[0].load(from_a, from_b);
                    }
                    multiply(&mut sums, &fragments[step % 2]);
                    // In the middle of a tile, into the stage that was waited for with this tile, or that nobody used yet. Predicated,
                    // so that products lie between the copies.
                    if step == (steps - 1) / 2 {
                        let more = copied < tiles;
                        left.copy_if(stage(ring.write), more);
                        right.copy_if(right_of(stage(ring.write)), more);
                        // Without more tiles nobody waits for the stage.
                        ring.filled();
                        copied += 1;
                    }
                }
                ring.emptied(reading);
                tile += 1;
            }
        }
        let target = Target::new(&gemm, &task, c, partials, [BM, BN]);
        let row = task.row as usize + warp_row + 2 * group;
        let column = task.column as usize + warp_column + 4 * in_group;
        store(&target, &sums, row, column);
        meet::<f64, BM, BN, THREADS, 8>(&gemm, &task, c, partials, memory.cast());
    }
}

/// Stores a lane's sums, whose first is at this row and column.
///
/// # Safety
/// The target is a matrix of `rows` × `columns` elements; no other lane owns these ones.
#[inline(always)]
unsafe fn store(target: &Target<f64>, sums: &Sums, row: usize, column: usize) {
    let vectors = target.vectors();
    for i in 0..PAIRS_A {
        for half in 0..2 {
            for j in 0..PAIRS_B {
                let row = row + i * PAIR + half;
                let [even, odd] = sums[i][j][half];
                let values = [even[0], odd[0], even[1], odd[1]];
                for q in (0..4).step_by(2) {
                    let column = column + j * PAIR + q;
                    if row >= target.rows || column >= target.columns {
                        continue;
                    }
                    let to = target.start.wrapping_add(row * target.leading + column);
                    let scaled = [values[q] * target.alpha, values[q + 1] * target.alpha];
                    // SAFETY: inside of the matrix by the tests; vectors are aligned because all rows are.
                    unsafe {
                        if vectors {
                            let old = if target.beta == 0.0 {
                                [0.0; 2]
                            } else {
                                F64x2::load(to)
                            };
                            F64x2::store(
                                to,
                                [
                                    target.combine(scaled[0], old[0]),
                                    target.combine(scaled[1], old[1]),
                                ],
                            );
                        } else {
                            for e in 0..2 {
                                if column + e < target.columns {
                                    let to = to.add(e);
                                    let old = if target.beta == 0.0 { 0.0 } else { *to };
                                    *to = target.combine(scaled[e], old);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Kernels of one generation, and the table of them; tiles are 16 deep.
macro_rules! dgemm_instances {
    ($multiply:expr; $([$rows:literal, $columns:literal], $threads:literal, $stages:literal, $resident:literal {
        $($name:ident: $way_a:ident, $way_b:ident;)*
    })*) => {
        $($(
            #[doc = concat!("`dgemm` for operands that lie in these ways: ", stringify!($way_a), ", ", stringify!($way_b), ".")]
            ///
            /// # Safety
            /// See [`instance`](crate::gemm::instance).
            #[cuda_std::kernel(max_threads = $threads, min_blocks = 1)]
            pub unsafe fn $name(a: &[f64], b: &[f64], c: *mut f64, partials: *mut f64, gemm: Gemm<f64>) {
                let memory = cuda_std::shared::dynamic_shared_mem();
                // SAFETY: passed on to the caller.
                unsafe {
                    body::<$rows, $columns, 16, $threads, $stages, { way::$way_a }, { way::$way_b }>(
                        memory, [a.as_ptr(), b.as_ptr()], [c, partials], gemm, $multiply,
                    )
                }
            }
        )*)*

        /// The instances.
        pub const INSTANCES: &[Instance] = &[$($(
            Instance::new::<f64>(stringify!($name), [$rows, $columns, 16], $threads, $stages, $resident, [way::$way_a, way::$way_b]),
        )*)*];
    };
}

pub(crate) use dgemm_instances;

//! The parts of `dgemm` that generations unit: all but the shape of the tensor cores' products.

use crate::gemm::GemmParams;
use crate::gemm::copy::{PADDING, Panel, TileLoader};
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::pipeline::cp_async::Pipeline;
use crate::gemm::reduction::last_block::fix_up;
use crate::gemm::scheduler::grid::WorkTile;
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

/// A lane's accumulators: for each pair of A and of B and each of the four products of their pieces, two neighbours in a row.
pub type Accumulators = [[[[[f64; 2]; 2]; 2]; PAIRS_B]; PAIRS_A];

/// The product, for k_tiles of `BM` × `BN`, `BK` deep. `multiply` adds the products of fragments.
///
/// # Safety
/// As for the kernels; `memory` has `cp_async::shared_bytes::<f64>([BM, BN, BK], STAGES)` bytes, aligned to 16.
#[inline(always)]
pub unsafe fn body<
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const THREADS: usize,
    const STAGES: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
>(
    memory: *mut f64,
    [a, b]: [*const f64; 2],
    [c, partials]: [*mut f64; 2],
    gemm: GemmParams<f64>,
    multiply: impl Fn(&mut Accumulators, &Fragments),
) {
    const {
        assert!(BM * BN / (WARP_ROWS * WARP_COLUMNS) * 32 == THREADS);
        assert!(BK.is_multiple_of(2 * PIECE_DEPTH) && STAGES >= 3);
    }
    let work = WorkTile::of_this_block(&gemm, BM as u32, BN as u32);
    let mut left = TileLoader::<f64, LAYOUT_A, BM, BK, THREADS>::new(&Panel {
        matrix: a.wrapping_add(work.batch as usize * gemm.stride_a as usize),
        leading: gemm.lda,
        extent: gemm.m,
        first: work.row,
        start: work.start,
    });
    let mut right = TileLoader::<f64, LAYOUT_B, BN, BK, THREADS>::new(&Panel {
        matrix: b.wrapping_add(work.batch as usize * gemm.stride_b as usize),
        leading: gemm.ldb,
        extent: gemm.n,
        first: work.column,
        start: work.start,
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
    let mut accumulators: Accumulators = unsafe { core::mem::zeroed() };
    let k_tiles = work.depth.div_ceil(BK as u32);
    // SAFETY: the caller ensures the memory and the operands. Stages are producer_commit only when empty and read only when full,
    // by the pipeline.
    unsafe {
        let mut pipeline = Pipeline::<STAGES>::new(
            SharedAddress::of(memory.add(STAGES * stage_words)),
            THREADS as u32,
        );
        let mut copied = 0;
        let mut depth = work.depth - k_tiles.saturating_sub(1) * BK as u32;
        while copied < k_tiles && copied < STAGES as u32 - 2 {
            left.copy_partial(stage(pipeline.producer_stage), depth);
            right.copy_partial(right_of(stage(pipeline.producer_stage)), depth);
            pipeline.producer_commit();
            depth = BK as u32;
            copied += 1;
        }
        if k_tiles > 0 {
            pipeline.consumer_wait();
            let first_a = memory.add(in_group * pitch_a + warp_row + 2 * group);
            let first_b = memory.add(words_a + in_group * pitch_b + warp_column + 2 * group);
            let (mut from_a, mut from_b) = (first_a, first_b);
            let steps = BK / PIECE_DEPTH;
            let mut fragments: [Fragments; 2] = core::mem::zeroed();
            fragments[0].load(from_a, from_b);
            let mut k_tile = 1;
            while k_tile <= k_tiles {
                let reading = pipeline.consumer_stage;
                for step in 0..steps {
                    if step + 1 < steps {
                        let k = (step + 1) * PIECE_DEPTH;
                        fragments[(step + 1) % 2]
                            .load(from_a.add(k * pitch_a), from_b.add(k * pitch_b));
                    } else {
                        pipeline.consumer_advance();
                        // After the last tile the fragments are loaded once more from where they were, for nothing.
                        if k_tile < k_tiles {
                            pipeline.wait_for_both();
                            from_a = first_a.add(pipeline.consumer_stage as usize * stage_words);
                            from_b = first_b.add(pipeline.consumer_stage as usize * stage_words);
                        }
                        fragments[0].load(from_a, from_b);
                    }
                    multiply(&mut accumulators, &fragments[step % 2]);
                    // In the middle of a tile, into the stage that was waited for with this tile, or that nobody used yet. Predicated,
                    // so that products lie between the copies.
                    if step == (steps - 1) / 2 {
                        let more = copied < k_tiles;
                        left.copy_if(stage(pipeline.producer_stage), more);
                        right.copy_if(right_of(stage(pipeline.producer_stage)), more);
                        // Without more k_tiles nobody waits for the stage.
                        pipeline.producer_commit();
                        copied += 1;
                    }
                }
                pipeline.consumer_release(reading);
                k_tile += 1;
            }
        }
        let epilogue = LinearCombination::new(&gemm, &work, c, partials, [BM, BN]);
        let row = work.row as usize + warp_row + 2 * group;
        let column = work.column as usize + warp_column + 4 * in_group;
        store(&epilogue, &accumulators, row, column);
        fix_up::<f64, BM, BN, THREADS, 8>(&gemm, &work, c, partials, memory.cast());
    }
}

/// Stores a lane's accumulators, whose first is at this row and column.
///
/// # Safety
/// The epilogue is a matrix of `rows` × `columns` elements; no other lane owns these ones.
#[inline(always)]
unsafe fn store(
    epilogue: &LinearCombination<f64>,
    accumulators: &Accumulators,
    row: usize,
    column: usize,
) {
    let vectors = epilogue.vectors();
    for i in 0..PAIRS_A {
        for half in 0..2 {
            for j in 0..PAIRS_B {
                let row = row + i * PAIR + half;
                let [even, odd] = accumulators[i][j][half];
                let values = [even[0], odd[0], even[1], odd[1]];
                for q in (0..4).step_by(2) {
                    let column = column + j * PAIR + q;
                    if row >= epilogue.rows || column >= epilogue.columns {
                        continue;
                    }
                    let to = epilogue.start.wrapping_add(row * epilogue.leading + column);
                    let scaled = [values[q] * epilogue.alpha, values[q + 1] * epilogue.alpha];
                    // SAFETY: inside of the matrix by the tests; vectors are aligned because all rows are.
                    unsafe {
                        if vectors {
                            let old = if epilogue.beta == 0.0 {
                                [0.0; 2]
                            } else {
                                F64x2::load(to)
                            };
                            F64x2::store(
                                to,
                                [
                                    epilogue.combine(scaled[0], old[0]),
                                    epilogue.combine(scaled[1], old[1]),
                                ],
                            );
                        } else {
                            for e in 0..2 {
                                if column + e < epilogue.columns {
                                    let to = to.add(e);
                                    let old = if epilogue.beta == 0.0 { 0.0 } else { *to };
                                    *to = epilogue.combine(scaled[e], old);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Kernels of one generation, and the table of them; k_tiles are 16 deep.
macro_rules! dgemm_instances {
    ($multiply:expr; $([$rows:literal, $columns:literal], $threads:literal, $stages:literal, $resident:literal {
        $($name:ident: $layout_a:ident, $layout_b:ident;)*
    })*) => {
        $($(
            #[doc = concat!("`dgemm` for operands that lie in these layouts: ", stringify!($layout_a), ", ", stringify!($layout_b), ".")]
            ///
            /// # Safety
            /// See [`instance`](crate::gemm::tile_config).
            #[cuda_std::kernel(max_threads = $threads, min_blocks = 1)]
            pub unsafe fn $name(a: &[f64], b: &[f64], c: *mut f64, partials: *mut f64, gemm: GemmParams<f64>) {
                let memory = cuda_std::shared::dynamic_shared_mem();
                // SAFETY: passed on to the caller.
                unsafe {
                    body::<$rows, $columns, 16, $threads, $stages, { layout::$layout_a }, { layout::$layout_b }>(
                        memory, [a.as_ptr(), b.as_ptr()], [c, partials], gemm, $multiply,
                    )
                }
            }
        )*)*

        /// The instances.
        pub const INSTANCES: &[TileConfig] = &[$($(
            TileConfig::new::<f64>(stringify!($name), [$rows, $columns, 16], $threads, $stages, $resident, [layout::$layout_a, layout::$layout_b]),
        )*)*];
    };
}

pub(crate) use dgemm_instances;

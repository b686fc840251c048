//! `sgemm` and its instances: f32 products of any size and layout, at the rate of the FP32 units.
//!
//! # Idea
//! `cp_async` keeps the FP32 units busy for about three quarters of the time. What is left goes to waiting at block barriers
//! and to loading operands from shared memory. So each thread owns 8 × 16 accumulators: 24 elements from shared memory feed 128
//! multiply-adds, and the elements of the next k are loaded into a second set of registers while those of this one are
//! multiplied. Stages of shared memory form a pipeline in which each has two barriers, "full" and "empty": a warp waits for a
//! stage, never for the other warps. FMAs go through the accumulators in serpentines, so that of the three operands of an
//! instruction one was an operand of the instruction before: register banks deliver two per cycle. The large k_tiles multiply two
//! rows along k in a loop that the instruction cache holds; waits and copies lie among the FMAs of the last two. Where k is
//! long, accumulators are those of [slices](crate::gemm::simt::promotion), which round less.
//!
//! # Thread mapping
//! A warp owns 8 · `TM` × 4 · `TN` elements of the block's tile of C, a thread `TM` × `TN` of them: 4 × 4 blocks, 32 rows and
//! 16 columns apart. All threads copy: see [`operand`](crate::gemm::operand).
//!
//! # Preconditions
//! None on sizes, beyond [`MAX_LEADING`](crate::gemm::MAX_LEADING). Instances named after a layout (`_nn`: neither operand
//! transposed) take that layout only, and rows along m or n must be of whole 16-byte vectors: leading dimension and extent
//! multiples of 4, the address of 16.
//!
//! # What changed since the rung before
//! Against `cp_async`: barriers for stages instead of the block, twice the accumulators of a thread, fragments in two sets of
//! registers, the order of the FMAs, α and β, layouts, edges, batches, and parts of k.
//!
//! # Source
//! Beyond the sources. The blocking is that of CUTLASS's SIMT kernels (Kerr et al., "CUTLASS: Fast Linear Algebra in
//! CUDA C++", 2017).

use crate::gemm::GemmParams;
use crate::gemm::copy::{PADDING, Panel, TileLoader, layout};
use crate::gemm::epilogue::linear::LinearCombination;
use crate::gemm::pipeline::cp_async::{self, Pipeline};
use crate::gemm::reduction::last_block::fix_up;
use crate::gemm::scheduler::grid::WorkTile;
use crate::gemm::simt::promotion::PromotedAccumulators;
use crate::gemm::tile_config::TileConfig;
use cuda_std::async_copy::SharedAddress;
use cuda_std::hint::rolled;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Rows and columns of threads in a warp.
const WARP_ROWS: usize = 8;
const WARP_COLUMNS: usize = 4;

// ANCHOR: fragments
/// What a thread multiplies for one k.
#[derive(Clone, Copy)]
struct Fragments<const TM: usize, const TN: usize> {
    a: [f32; TM],
    b: [f32; TN],
}
// ANCHOR_END: fragments

impl<const TM: usize, const TN: usize> Fragments<TM, TN> {
    /// Loads blocks of 4 that are one warp of threads apart.
    ///
    /// # Safety
    /// The places are in a full stage and 16-byte aligned.
    #[inline(always)]
    unsafe fn load(&mut self, a: *const f32, b: *const f32) {
        // SAFETY: the caller ensures it.
        unsafe {
            for i in (0..TM).step_by(4) {
                [self.a[i], self.a[i + 1], self.a[i + 2], self.a[i + 3]] =
                    F32x4::load(a.add(i * WARP_ROWS));
            }
            for j in (0..TN).step_by(4) {
                [self.b[j], self.b[j + 1], self.b[j + 2], self.b[j + 3]] =
                    F32x4::load(b.add(j * WARP_COLUMNS));
            }
        }
    }
}

/// The product, for k_tiles of `BM` × `BN`, `BK` deep, of which `UNROLL` rows are unrolled at a time. `DIRECT` leaves out the
/// second way of storing, which costs the main loop registers.
///
/// Where warps are few, a loop over two rows keeps them busiest: the instruction cache holds it, and `ptxas` keeps its FMAs in
/// order and its loads early, which it does not do with 16 rows one behind the other. Copies are then predicated, so
/// that FMAs lie between them. Where warps are many, they fill each other's gaps, and fewer instructions count for more.
///
/// # Safety
/// As for the kernels; `memory` has `cp_async::shared_bytes::<f32>([BM, BN, BK], STAGES)` bytes, aligned to 16, and where there are
/// several slices of k, those of [`PromotedAccumulators`] behind them.
#[inline(always)]
unsafe fn body<
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TM: usize,
    const TN: usize,
    const THREADS: usize,
    const STAGES: usize,
    const UNROLL: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
    const DIRECT: bool,
>(
    memory: *mut f32,
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    partials: *mut f32,
    gemm: GemmParams<f32>,
) {
    const {
        assert!(
            BM * BN == THREADS * TM * TN
                && BM.is_multiple_of(WARP_ROWS * TM)
                && BN.is_multiple_of(WARP_COLUMNS * TN)
        );
        assert!(
            TM.is_multiple_of(4)
                && TN.is_multiple_of(4)
                && UNROLL.is_multiple_of(2)
                && BK.is_multiple_of(UNROLL)
                && STAGES >= 3
        );
    }
    let rolled_up = const { UNROLL < BK };
    let work = WorkTile::of_this_block(&gemm, BM as u32, BN as u32);
    let mut left = TileLoader::<f32, LAYOUT_A, BM, BK, THREADS>::new(&Panel {
        matrix: a.wrapping_add(work.batch as usize * gemm.stride_a as usize),
        leading: gemm.lda,
        extent: gemm.m,
        first: work.row,
        start: work.start,
    });
    let mut right = TileLoader::<f32, LAYOUT_B, BN, BK, THREADS>::new(&Panel {
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
    let stage = |index: u32| shared.at(index * (stage_words * size_of::<f32>()) as u32);
    let right_of = |stage: SharedAddress| stage.at((words_a * size_of::<f32>()) as u32);
    let ring_words =
        const { cp_async::shared_bytes::<f32>([BM, BN, BK], STAGES) / size_of::<f32>() };

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let across = BN / (WARP_COLUMNS * TN);
    let (warp_row, warp_column) = (
        warp / across * (WARP_ROWS * TM),
        warp % across * (WARP_COLUMNS * TN),
    );
    let (lane_row, lane_column) = (lane / WARP_COLUMNS * 4, lane % WARP_COLUMNS * 4);

    // SAFETY: zero is a valid float. An array expression would be a loop that LLVM does not unroll in time.
    let mut accumulators: [[f32; TN]; TM] = unsafe { core::mem::zeroed() };
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
        let promoted = PromotedAccumulators::<TM, TN, THREADS>::new(memory.add(ring_words), t);
        let promotes = work.depth > gemm.promotion_interval;
        if promotes {
            promoted.zero();
        }
        if k_tiles > 0 {
            pipeline.consumer_wait();
            let (first_a, first_b) = (
                memory.add(warp_row + lane_row),
                memory.add(words_a + warp_column + lane_column),
            );
            let (mut from_a, mut from_b) = (first_a, first_b);
            let mut fragments: [Fragments<TM, TN>; 2] = core::mem::zeroed();
            fragments[0].load(from_a, from_b);
            let mut k_tile = 1;
            while k_tile <= k_tiles {
                let reading = pipeline.consumer_stage;
                let mut k = UNROLL as u32;
                while k < BK as u32 {
                    for u in 0..UNROLL {
                        let (next, row) = (&mut fragments[(u + 1) % 2], u + 1);
                        next.load(from_a.add(row * pitch_a), from_b.add(row * pitch_b));
                        multiply(&mut accumulators, &fragments[u % 2]);
                    }
                    from_a = from_a.add(UNROLL * pitch_a);
                    from_b = from_b.add(UNROLL * pitch_b);
                    k = rolled(k as usize + UNROLL) as u32;
                }
                // The last rows of a tile. Meanwhile a tile is copied; the other warps have left the stage before the last.
                let more = copied < k_tiles;
                if rolled_up {
                    pipeline.producer_acquire();
                }
                for u in 0..UNROLL {
                    let next = &mut fragments[(u + 1) % 2];
                    if u + 1 < UNROLL {
                        let row = u + 1;
                        next.load(from_a.add(row * pitch_a), from_b.add(row * pitch_b));
                    } else {
                        pipeline.consumer_advance();
                        // After the last tile the fragments are loaded once more from where they were, for nothing.
                        if k_tile < k_tiles {
                            pipeline.consumer_wait();
                            from_a = first_a.add(pipeline.consumer_stage as usize * stage_words);
                            from_b = first_b.add(pipeline.consumer_stage as usize * stage_words);
                        }
                        next.load(from_a, from_b);
                    }
                    multiply(&mut accumulators, &fragments[u % 2]);
                    // All rows are read by now. Earlier would do, and be as fast, but NVIDIA's racecheck knows the order of reads
                    // and later copies by the arrival behind these copies alone.
                    if u == UNROLL - 2 && (rolled_up || more) {
                        if !rolled_up {
                            pipeline.producer_acquire();
                        }
                        left.copy_if(stage(pipeline.producer_stage), more);
                        right.copy_if(right_of(stage(pipeline.producer_stage)), more);
                        // Without more k_tiles nobody waits for the stage.
                        pipeline.producer_commit();
                        copied += 1;
                    }
                }
                pipeline.consumer_release(reading);
                if k_tile < k_tiles && (k_tile * BK as u32) & (gemm.promotion_interval - 1) == 0 {
                    promoted.promote(&mut accumulators);
                }
                k_tile += 1;
            }
        }
        if promotes {
            promoted.add_to(&mut accumulators);
        }
        let epilogue = LinearCombination::new(&gemm, &work, c, partials, [BM, BN]);
        let (row, column) = (work.row as usize, work.column as usize);
        if DIRECT || epilogue.vectors() {
            store_directly(
                &epilogue,
                &accumulators,
                row + warp_row + lane_row,
                column + warp_column + lane_column,
            );
        } else {
            // The stages are no longer needed once every warp is here.
            thread::sync_threads();
            let strip = memory.add(warp * WARP_ROWS * (WARP_COLUMNS * TN + PADDING));
            store_strips(
                &epilogue,
                &accumulators,
                strip,
                row + warp_row,
                column + warp_column,
            );
        }
        fix_up::<f32, BM, BN, THREADS, 8>(&gemm, &work, c, partials, memory.cast());
    }
}

// ANCHOR: serpentine
/// Adds the products of one row along k to a thread's accumulators.
#[inline(always)]
fn multiply<const TM: usize, const TN: usize>(
    accumulators: &mut [[f32; TN]; TM],
    Fragments { a, b }: &Fragments<TM, TN>,
) {
    for i in 0..TM {
        for step in 0..TN {
            let j = if i % 2 == 0 { step } else { TN - 1 - step };
            multiply_add(a[i], b[j], &mut accumulators[i][j]);
        }
    }
}
// ANCHOR_END: serpentine

/// Adds a · b to a sum, as [`f32::mul_add`] does, but where it is written: LLVM would gather the multiply-adds of several rows
/// behind the waits and copies that lie between them, and nothing would be left to do meanwhile.
#[inline(always)]
fn multiply_add(a: f32, b: f32, sum: &mut f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic on registers.
    unsafe {
        core::arch::asm!(
            "fma.rn.f32 {sum}, {a}, {b}, {sum};",
            sum = inout(reg32) *sum,
            a = in(reg32) a,
            b = in(reg32) b,
            options(nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        *sum = a.mul_add(b, *sum);
    }
}

/// Stores a thread's accumulators, whose first is at this row and column, as vectors where the epilogue's rows are whole ones.
///
/// # Safety
/// The epilogue is a matrix of `rows` × `columns` elements; no other thread owns these ones.
#[inline(always)]
unsafe fn store_directly<const TM: usize, const TN: usize>(
    epilogue: &LinearCombination<f32>,
    accumulators: &[[f32; TN]; TM],
    row: usize,
    column: usize,
) {
    let LinearCombination {
        start,
        leading,
        rows,
        columns,
        alpha,
        beta,
    } = *epilogue;
    let vectors =
        leading.is_multiple_of(4) && columns.is_multiple_of(4) && start.addr().is_multiple_of(16);
    for i in 0..TM {
        let row = row + i / 4 * (4 * WARP_ROWS) + i % 4;
        if row >= rows {
            continue;
        }
        for j in (0..TN).step_by(4) {
            let column = column + j * WARP_COLUMNS;
            let to = start.wrapping_add(row * leading + column);
            let mut values = scaled(&accumulators[i], j, alpha);
            // SAFETY: inside of the matrix by the tests; vectors are aligned because all rows are.
            unsafe {
                if !vectors {
                    for q in 0..4 {
                        if column + q < columns {
                            let to = to.add(q);
                            *to = if beta == 0.0 {
                                values[q]
                            } else {
                                beta.mul_add(*to, values[q])
                            };
                        }
                    }
                } else if column < columns {
                    if beta != 0.0 {
                        let old = F32x4::load(to);
                        for q in 0..4 {
                            values[q] = beta.mul_add(old[q], values[q]);
                        }
                    }
                    F32x4::store(to, values);
                }
            }
        }
    }
}

/// Four accumulators from `j` on, times α: in registers of their own. Stored as they are, accumulators would have to lie as the vectors of
/// B do, in the same register banks, and each FMA of the main loop would wait for a bank.
#[inline(always)]
fn scaled<const TN: usize>(accumulators: &[f32; TN], j: usize, alpha: f32) -> [f32; 4] {
    [
        accumulators[j] * alpha,
        accumulators[j + 1] * alpha,
        accumulators[j + 2] * alpha,
        accumulators[j + 3] * alpha,
    ]
}

/// Stores a warp's accumulators, whose first is at this row and column, where rows start anywhere: 8 rows at a time go through
/// shared memory, so that a store covers 32 neighbours.
///
/// # Safety
/// The epilogue is a matrix of `rows` × `columns` elements; no other warp owns these ones, or the strip, which has 8 rows of
/// 4 · `TN` + [`PADDING`] elements.
#[inline(always)]
unsafe fn store_strips<const TM: usize, const TN: usize>(
    epilogue: &LinearCombination<f32>,
    accumulators: &[[f32; TN]; TM],
    strip: *mut f32,
    row: usize,
    column: usize,
) {
    let width = WARP_COLUMNS * TN;
    let pitch = width + PADDING;
    let lane = warp::lane_id() as usize;
    let own = strip.wrapping_add(lane / WARP_COLUMNS * pitch + lane % WARP_COLUMNS * 4);
    for i in 0..TM {
        // SAFETY: the strip is the warp's, and its barriers separate writing and reading. What is stored is inside of the
        // matrix by the test.
        unsafe {
            for j in (0..TN).step_by(4) {
                F32x4::store(
                    own.add(j * WARP_COLUMNS),
                    scaled(&accumulators[i], j, epilogue.alpha),
                );
            }
            warp::sync_warp(u32::MAX);
            for y in 0..WARP_ROWS {
                let row = row + i / 4 * (4 * WARP_ROWS) + y * 4 + i % 4;
                for x in (0..width).step_by(32) {
                    let column = column + x + lane;
                    if row < epilogue.rows && column < epilogue.columns {
                        let to = epilogue.start.add(row * epilogue.leading + column);
                        let old = if epilogue.beta == 0.0 { 0.0 } else { *to };
                        *to = epilogue.combine(*strip.add(y * pitch + x + lane), old);
                    }
                }
            }
            warp::sync_warp(u32::MAX);
        }
    }
}

macro_rules! instances {
    ($($tile:literal: [$bm:literal, $bn:literal, $bk:literal], [$tm:literal, $tn:literal], $threads:literal, $stages:literal, $slice:literal, $unroll:literal, $min_blocks:literal, $direct:literal {
        $($name:ident: $layout_a:ident, $layout_b:ident;)*
    })*) => {
        $($(
            #[doc = concat!("`sgemm` by k_tiles of ", $tile, " for operands that lie in these layouts: ", stringify!($layout_a), ", ", stringify!($layout_b), ".")]
            ///
            /// # Safety
            /// See [`instance`](crate::gemm::tile_config).
            #[cuda_std::kernel(max_threads = $threads, min_blocks = $min_blocks)]
            pub unsafe fn $name(a: &[f32], b: &[f32], c: *mut f32, partials: *mut f32, gemm: GemmParams<f32>) {
                let memory = cuda_std::shared::dynamic_shared_mem();
                // SAFETY: passed on to the caller.
                unsafe {
                    body::<$bm, $bn, $bk, $tm, $tn, $threads, $stages, $unroll, { layout::$layout_a }, { layout::$layout_b }, $direct>(
                        memory, a.as_ptr(), b.as_ptr(), c, partials, gemm,
                    )
                }
            }
        )*)*

        /// The instances.
        pub const INSTANCES: &[TileConfig] = &[$($(
            TileConfig {
                promotion_interval: Some($slice),
                ..TileConfig::new::<f32>(stringify!($name), [$bm, $bn, $bk], $threads, $stages, $min_blocks, [layout::$layout_a, layout::$layout_b])
            },
        )*)*];
    };
}

// Slices are longest where a block has a multiprocessor to itself: nobody else multiplies while it adds up. Small k_tiles are
// for products of few k_tiles, where short chains count for more than 2 % of the time.
instances! {
    "128 × 256": [128, 256, 16], [8, 16], 256, 4, 1024, 2, 1, true {
        sgemm_128x256_nn: K_MAJOR, MN_MAJOR;
        sgemm_128x256_nt: K_MAJOR, K_MAJOR;
        sgemm_128x256_tn: MN_MAJOR, MN_MAJOR;
        sgemm_128x256_tt: MN_MAJOR, K_MAJOR;
    }
    "128 × 128": [128, 128, 8], [8, 16], 128, 4, 512, 2, 2, false {
        sgemm_128x128_nn: K_MAJOR, MN_MAJOR_UNALIGNED;
        sgemm_128x128_nt: K_MAJOR, K_MAJOR;
        sgemm_128x128_tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        sgemm_128x128_tt: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
    "64 × 64": [64, 64, 8], [8, 8], 64, 4, 256, 8, 6, false {
        sgemm_64x64_nn: K_MAJOR, MN_MAJOR_UNALIGNED;
        sgemm_64x64_nt: K_MAJOR, K_MAJOR;
        sgemm_64x64_tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        sgemm_64x64_tt: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
    "32 × 64": [32, 64, 8], [4, 8], 64, 4, 256, 8, 8, false {
        sgemm_32x64_nn: K_MAJOR, MN_MAJOR_UNALIGNED;
        sgemm_32x64_nt: K_MAJOR, K_MAJOR;
        sgemm_32x64_tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        sgemm_32x64_tt: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
    "128 × 32": [128, 32, 8], [8, 8], 64, 6, 256, 8, 6, false {
        sgemm_128x32_nn: K_MAJOR, MN_MAJOR_UNALIGNED;
        sgemm_128x32_nt: K_MAJOR, K_MAJOR;
        sgemm_128x32_tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
        sgemm_128x32_tt: MN_MAJOR_UNALIGNED, K_MAJOR;
    }
}

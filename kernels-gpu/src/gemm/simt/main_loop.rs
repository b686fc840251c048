//! The parts of `sgemm` that all GPU generations share: the main loop, the epilogue, and the table
//! of tiles.

use crate::gemm::GemmParams;
use crate::gemm::copy::{PADDING, Panel, TileLoader};
use crate::gemm::epilogue::direct::DirectEpilogue;
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::pipeline::cp_async::{self, Pipeline};
use crate::gemm::reduction::fix_up::fix_up_block;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::simt::promotion::PromotedAccumulators;
use crate::gemm::tile_config::Tile;
use cuda_std::async_copy::SharedAddress;
use cuda_std::griddepcontrol;
use cuda_std::hint::rolled;
use cuda_std::prelude::*;
use cuda_std::vector::{F32x4, Vector};

/// Threads of a warp along m and along n.
const WARP_THREADS_M: usize = 8;
const WARP_THREADS_N: usize = 4;

/// Neighbours along k that threads copy of a K-major operand: a sector.
const THREADS_ALONG_K: usize = 8;

// ANCHOR: fragments
/// A thread's operands for one k.
#[derive(Clone, Copy)]
struct Fragments<const TM: usize, const TN: usize> {
    a: [f32; TM],
    b: [f32; TN],
}
// ANCHOR_END: fragments

impl<const TM: usize, const TN: usize> Fragments<TM, TN> {
    /// Loads vec4s that are one row, or column, of the warp's threads apart.
    ///
    /// # Safety
    /// `a` and `b` point to this thread's first elements of a k-row in a full stage, and are
    /// aligned to 16 bytes.
    #[inline(always)]
    unsafe fn load(&mut self, a: *const f32, b: *const f32) {
        // SAFETY: the stage is full and the pointers are aligned by the contract of this function.
        // Offsets are multiples of 4 elements and stay in the k-row.
        unsafe {
            for i in (0..TM).step_by(4) {
                [self.a[i], self.a[i + 1], self.a[i + 2], self.a[i + 3]] =
                    F32x4::load(a.add(i * WARP_THREADS_M));
            }
            for j in (0..TN).step_by(4) {
                [self.b[j], self.b[j + 1], self.b[j + 2], self.b[j + 3]] =
                    F32x4::load(b.add(j * WARP_THREADS_N));
            }
        }
    }
}

/// The GEMM, for block tiles of `BM` × `BN` and k-tiles of `BK`, of which `UNROLL` k-rows are
/// unrolled at a time. `DIRECT` leaves out the epilogue through shared memory, which costs the main
/// loop registers. `OVERLAPS` is that of the [`Tile`].
///
/// Where warps are few, a loop over two k-rows keeps them busiest. The instruction cache holds it,
/// and `ptxas` keeps its FMAs in order and its loads early, which it does not do with 16 k-rows one
/// behind the other. Copies are then predicated, so that FMAs lie between them. Where warps are
/// many, they fill each other's gaps, and fewer instructions count for more.
///
/// # Safety
/// As [`tile_config`](crate::gemm::tile_config) says of the kernels. `memory` has
/// `cp_async::shared_bytes::<f32>([BM, BN, BK], STAGES)` bytes of shared memory, aligned to 16.
/// Where k is longer than the promotion interval, those of [`PromotedAccumulators`] lie behind
/// them.
#[inline(always)]
pub unsafe fn body<
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
    const OVERLAPS: bool,
    Op: OutputOp<f32>,
>(
    memory: *mut f32,
    [a, b]: [*const f32; 2],
    [c, workspace]: [*mut f32; 2],
    params: GemmParams<f32>,
    scheduler: GridSchedulerParams,
) {
    const {
        assert!(
            BM * BN == THREADS * TM * TN
                && BM.is_multiple_of(WARP_THREADS_M * TM)
                && BN.is_multiple_of(WARP_THREADS_N * TN)
        );
        assert!(
            TM.is_multiple_of(4)
                && TN.is_multiple_of(4)
                && UNROLL.is_multiple_of(2)
                && BK.is_multiple_of(UNROLL)
                && STAGES >= 3
        );
    }
    let rolls = const { UNROLL < BK };
    let work = WorkTile::of_this_block(&params, &scheduler, [BM as u32, BN as u32]);
    let mut loader_a = TileLoader::<f32, LAYOUT_A, BM, BK, THREADS, THREADS_ALONG_K>::new(&Panel {
        matrix: a.wrapping_add(work.batch as usize * params.stride_a as usize),
        leading: params.lda,
        extent: params.m,
        first: work.row,
        start: work.k_start,
    });
    let mut loader_b = TileLoader::<f32, LAYOUT_B, BN, BK, THREADS, THREADS_ALONG_K>::new(&Panel {
        matrix: b.wrapping_add(work.batch as usize * params.stride_b as usize),
        leading: params.ldb,
        extent: params.n,
        first: work.column,
        start: work.k_start,
    });
    let (pitch_a, pitch_b) = (BM + PADDING, BN + PADDING);
    let elements_a = BK * pitch_a;
    let stage_elements = BK * (pitch_a + pitch_b);
    let shared = SharedAddress::of(memory);
    let stage = |index: u32| shared.at(index * (stage_elements * size_of::<f32>()) as u32);
    let tile_b = |stage: SharedAddress| stage.at((elements_a * size_of::<f32>()) as u32);
    let pipeline_elements =
        const { cp_async::shared_bytes::<f32>([BM, BN, BK], STAGES) / size_of::<f32>() };

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let warps_n = BN / (WARP_THREADS_N * TN);
    let (warp_row, warp_column) = (
        warp / warps_n * (WARP_THREADS_M * TM),
        warp % warps_n * (WARP_THREADS_N * TN),
    );
    let (lane_row, lane_column) = (lane / WARP_THREADS_N * 4, lane % WARP_THREADS_N * 4);

    // SAFETY: zero is a valid float. An array expression would be a loop that LLVM does not unroll
    // in time.
    let mut accumulators: [[f32; TN]; TM] = unsafe { core::mem::zeroed() };
    let k_tiles = work.k_extent.div_ceil(BK as u32);
    // SAFETY: `memory`, operands, C and workspace are as the contract of this function says. The
    // pipeline's barriers order the stages: one is filled when it is empty, and read when it is
    // full. Loads after the last k-tile read that stage again.
    unsafe {
        let mut pipeline = Pipeline::<STAGES>::new(
            SharedAddress::of(memory.add(STAGES * stage_elements)),
            THREADS as u32,
        );
        if OVERLAPS {
            griddepcontrol::wait();
        }
        let mut prefetched = 0;
        let mut k_extent = work.k_extent - k_tiles.saturating_sub(1) * BK as u32;
        while prefetched < k_tiles && prefetched < STAGES as u32 - 2 {
            loader_a.copy_partial(stage(pipeline.producer_stage), k_extent);
            loader_b.copy_partial(tile_b(stage(pipeline.producer_stage)), k_extent);
            pipeline.producer_commit();
            k_extent = BK as u32;
            prefetched += 1;
        }
        let promoted =
            PromotedAccumulators::<TM, TN, THREADS>::new(memory.add(pipeline_elements), t);
        let promotes = work.k_extent > scheduler.promotion_interval;
        if promotes {
            promoted.zero();
        }
        if k_tiles > 0 {
            pipeline.consumer_wait();
            let (first_a, first_b) = (
                memory.add(warp_row + lane_row),
                memory.add(elements_a + warp_column + lane_column),
            );
            let (mut from_a, mut from_b) = (first_a, first_b);
            let mut fragments: [Fragments<TM, TN>; 2] = core::mem::zeroed();
            fragments[0].load(from_a, from_b);
            let mut k_tile = 1;
            while k_tile <= k_tiles {
                let read_stage = pipeline.consumer_stage;
                let mut k = UNROLL as u32;
                while k < BK as u32 {
                    for u in 0..UNROLL {
                        let (next, row) = (&mut fragments[(u + 1) % 2], u + 1);
                        next.load(from_a.add(row * pitch_a), from_b.add(row * pitch_b));
                        outer_product(&mut accumulators, &fragments[u % 2]);
                    }
                    from_a = from_a.add(UNROLL * pitch_a);
                    from_b = from_b.add(UNROLL * pitch_b);
                    k = rolled(k as usize + UNROLL) as u32;
                }
                // The last k-rows of a k-tile, with the copies of a later one among them. These go
                // to the stage that was read two k-tiles ago, which the other warps have released.
                let more = prefetched < k_tiles;
                if rolls {
                    pipeline.producer_acquire();
                }
                for u in 0..UNROLL {
                    let next = &mut fragments[(u + 1) % 2];
                    if u + 1 < UNROLL {
                        let row = u + 1;
                        next.load(from_a.add(row * pitch_a), from_b.add(row * pitch_b));
                    } else {
                        pipeline.consumer_advance();
                        // After the last k-tile the fragments are loaded from the same offsets once
                        // more, and not used.
                        if k_tile < k_tiles {
                            pipeline.consumer_wait();
                            from_a = first_a.add(pipeline.consumer_stage as usize * stage_elements);
                            from_b = first_b.add(pipeline.consumer_stage as usize * stage_elements);
                        }
                        next.load(from_a, from_b);
                    }
                    outer_product(&mut accumulators, &fragments[u % 2]);
                    // All k-rows are read by now. Copies could start earlier, and be as fast, but
                    // NVIDIA's racecheck learns the order of reads and later copies only from the
                    // arrival behind these copies.
                    if u == UNROLL - 2 && (rolls || more) {
                        if !rolls {
                            pipeline.producer_acquire();
                        }
                        loader_a.copy_if(stage(pipeline.producer_stage), more);
                        loader_b.copy_if(tile_b(stage(pipeline.producer_stage)), more);
                        // Where no k-tile is left, no thread waits for the stage.
                        pipeline.producer_commit();
                        prefetched += 1;
                    }
                }
                pipeline.consumer_release(read_stage);
                if k_tile < k_tiles
                    && (k_tile * BK as u32) & (scheduler.promotion_interval - 1) == 0
                {
                    promoted.promote(&mut accumulators);
                }
                k_tile += 1;
            }
        }
        if promotes {
            promoted.add_to(&mut accumulators);
        }
        // Where there are stream-K tiles, `splits` is 1.
        let (one, flag) = (scheduler.splits as f32, memory.cast());
        if !fix_up_block::<_, THREADS>(&scheduler, &mut accumulators, one, workspace, flag) {
            return;
        }
        let epilogue = DirectEpilogue::<f32, Op>::new(&params, &scheduler, &work, [c, workspace]);
        let (row, column) = (
            work.row as usize + warp_row,
            work.column as usize + warp_column,
        );
        let extents = [WARP_THREADS_M * TM, WARP_THREADS_N * TN];
        // Most tiles are stored by few instructions: those of all cases together would push the
        // main loop out of the instruction cache.
        let is_plain = epilogue.vectors() && !epilogue.is_source_needed();
        let block = [work.row as usize, work.column as usize];
        if !(DIRECT || is_plain && epilogue.has_all(block, [BM, BN])) {
            // The stages are free once all warps have arrived here: the last reads are done.
            thread::sync_threads();
        }
        if is_plain && epilogue.has_all([row, column], extents) {
            store_vectors(
                &epilogue,
                &accumulators,
                row + lane_row,
                column + lane_column,
            );
        } else if DIRECT && !epilogue.vectors() && !epilogue.is_source_needed() {
            store_quads(
                &epilogue,
                &accumulators,
                row + lane_row,
                column + lane_column,
            );
        } else if DIRECT {
            store_direct(
                &epilogue,
                &accumulators,
                row + lane_row,
                column + lane_column,
            );
        } else {
            let staging = memory.add(warp * WARP_THREADS_M * (WARP_THREADS_N * TN + PADDING));
            store_through_shared(&epilogue, &accumulators, staging, row, column);
        }
    }
}

// ANCHOR: serpentine
/// Adds the outer product of one k-row of A and of B to a thread's accumulators.
#[inline(always)]
fn outer_product<const TM: usize, const TN: usize>(
    accumulators: &mut [[f32; TN]; TM],
    Fragments { a, b }: &Fragments<TM, TN>,
) {
    for i in 0..TM {
        for index in 0..TN {
            let j = if i % 2 == 0 { index } else { TN - 1 - index };
            fma(a[i], b[j], &mut accumulators[i][j]);
        }
    }
}
// ANCHOR_END: serpentine

/// Adds a · b to an accumulator, as [`f32::mul_add`] does, but at this point of the program. LLVM
/// would gather the FMAs of several k-rows behind the waits and copies that lie between them, and
/// the FP32 units would idle meanwhile.
#[inline(always)]
fn fma(a: f32, b: f32, accumulator: &mut f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic on registers, without access to memory.
    unsafe {
        core::arch::asm!(
            "fma.rn.f32 {accumulator}, {a}, {b}, {accumulator};",
            accumulator = inout(reg32) *accumulator,
            a = in(reg32) a,
            b = in(reg32) b,
            options(nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        *accumulator = a.mul_add(b, *accumulator);
    }
}

/// The row of accumulators `i` of a thread, behind its first one.
#[inline(always)]
const fn row_of(i: usize) -> usize {
    i / 4 * (4 * WARP_THREADS_M) + i % 4
}

/// Stores a thread's accumulators, the first of them at `row` and `column`, where the epilogue
/// needs no source.
///
/// # Safety
/// The epilogue's matrix is in device memory, has all of the tile, and has rows of vectors. No
/// other thread owns the elements of this thread tile.
#[inline(always)]
unsafe fn store_vectors<Op: OutputOp<f32>, const TM: usize, const TN: usize>(
    epilogue: &DirectEpilogue<f32, Op>,
    accumulators: &[[f32; TN]; TM],
    row: usize,
    column: usize,
) {
    for i in 0..TM {
        for j in (0..TN).step_by(4) {
            let four = core::array::from_fn(|q| accumulators[i][j + q]);
            let column = column + j * WARP_THREADS_N;
            // SAFETY: this function has the contract of `store_vector`; `column` is a multiple of
            // 4.
            unsafe { epilogue.store_vector(row + row_of(i), column, four) };
        }
    }
}

/// The same of any matrix and with any source. Aligned rows are stored by vec4s, others by
/// elements.
///
/// # Safety
/// The epilogue's matrix is in device memory. No other thread owns the elements of this thread
/// tile.
#[inline(always)]
unsafe fn store_direct<Op: OutputOp<f32>, const TM: usize, const TN: usize>(
    epilogue: &DirectEpilogue<f32, Op>,
    accumulators: &[[f32; TN]; TM],
    row: usize,
    column: usize,
) {
    let vectors = epilogue.vectors();
    for i in 0..TM {
        for j in (0..TN).step_by(4) {
            let column = column + j * WARP_THREADS_N;
            let four = core::array::from_fn(|q| accumulators[i][j + q]);
            // SAFETY: this function has the contract of `store_4`; `column` is a multiple of 4.
            unsafe { epilogue.store_4(row + row_of(i), column, four, vectors) };
        }
    }
}

/// The same without a source, of rows that begin anywhere: the four threads of a row exchange
/// elements, so that a store covers four neighbours of 8 rows, not one of each vec4.
///
/// # Safety
/// As for [`store_direct`]. The whole warp calls it.
#[inline(always)]
unsafe fn store_quads<Op: OutputOp<f32>, const TM: usize, const TN: usize>(
    epilogue: &DirectEpilogue<f32, Op>,
    accumulators: &[[f32; TN]; TM],
    row: usize,
    column: usize,
) {
    // Of a thread's four columns, its own in the quad comes first.
    let column = column - warp::lane_id() as usize % WARP_THREADS_N * 3;
    for j in (0..TN).step_by(4) {
        let first = column + j * WARP_THREADS_N;
        let columns = [0, 1, 2, 3].map(|q| epilogue.column(row, first + q * WARP_THREADS_N));
        for i in 0..TM {
            let scaled = [0, 1, 2, 3].map(|q| epilogue.scale(accumulators[i][j + q]));
            // SAFETY: this function has the contract of those.
            unsafe {
                let transposed = transpose_quad(scaled);
                for q in 0..4 {
                    columns[q].store_scaled(row_of(i) as u32, 0, [transposed[q]]);
                }
            }
        }
    }
}

/// Transposes the 4 × 4 elements of four neighbouring lanes.
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
unsafe fn transpose_quad([a, b, c, d]: [f32; 4]) -> [f32; 4] {
    // SAFETY: all lanes of the warp call this function, by its contract.
    unsafe {
        let ([a, b], [c, d]) = (exchange(1, [a, b]), exchange(1, [c, d]));
        let ([a, c], [b, d]) = (exchange(2, [a, c]), exchange(2, [b, d]));
        [a, b, c, d]
    }
}

/// Transposes the 2 × 2 elements of this lane and the one that is `distance`, 1 or 2, away.
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
unsafe fn exchange(distance: u32, [low, high]: [f32; 2]) -> [f32; 2] {
    let is_upper = warp::lane_id() & distance != 0;
    let sent = if is_upper { low } else { high };
    // SAFETY: all lanes of the warp call this function, by its contract.
    let (received, _) = unsafe { warp::warp_shuffle_xor(u32::MAX, sent, distance, 32) };
    if is_upper {
        [received, high]
    } else {
        [low, received]
    }
}

/// Stores a warp's accumulators, the first of them at `row` and `column`, of any matrix and with
/// any source. 8 rows at a time go through shared memory, so that a store covers 32 neighbours.
///
/// They are scaled before that. To be stored as they are, accumulators would have to lie as the
/// vectors of B do, in the same register banks: each FMA of the main loop would wait for a bank.
///
/// # Safety
/// The epilogue's matrix is in device memory. No other warp owns the elements of this warp tile, or
/// uses `staging`: 8 rows of 4 · `TN` + [`PADDING`] elements of shared memory.
#[inline(always)]
unsafe fn store_through_shared<Op: OutputOp<f32>, const TM: usize, const TN: usize>(
    epilogue: &DirectEpilogue<f32, Op>,
    accumulators: &[[f32; TN]; TM],
    staging: *mut f32,
    row: usize,
    column: usize,
) {
    const { assert!(TN / 8 * 8 == TN && TN <= 16) };
    let pitch = WARP_THREADS_N * TN + PADDING;
    let lane = warp::lane_id() as usize;
    let own = staging.wrapping_add(lane / WARP_THREADS_N * pitch + lane % WARP_THREADS_N * 4);
    // A lane stores one column, or two that are 32 apart.
    let columns = [0, 1].map(|x| epilogue.column(row, column + 32 * x + lane));
    let is_source_needed = epilogue.is_source_needed();
    for i in 0..TM {
        // SAFETY: only this warp uses the staging rows, and `sync_warp` separates their writes from
        // their reads. The epilogue has the contract of this function.
        unsafe {
            for j in (0..TN).step_by(4) {
                let scaled = core::array::from_fn(|q| epilogue.scale(accumulators[i][j + q]));
                F32x4::store(own.add(j * WARP_THREADS_N), scaled);
            }
            warp::sync_warp(u32::MAX);
            if is_source_needed {
                for y in 0..WARP_THREADS_M {
                    let row = row + row_of(i) + 4 * y;
                    for x in (0..WARP_THREADS_N * TN).step_by(32) {
                        let scaled = *staging.add(y * pitch + x + lane);
                        epilogue.store_scaled(row, column + x + lane, scaled);
                    }
                }
            } else {
                for x in 0..TN / 8 {
                    let column = core::array::from_fn(|y| *staging.add(y * pitch + 32 * x + lane));
                    columns[x].store_scaled::<WARP_THREADS_M>(row_of(i) as u32, 4, column);
                }
            }
            warp::sync_warp(u32::MAX);
        }
    }
}

/// A [`Tile`] with the constants of this stack.
pub trait SimtTile: Tile {
    /// Rows of the thread tile.
    const TM: usize;
    /// Columns of the thread tile.
    const TN: usize;
    /// k-rows that are unrolled at a time.
    const UNROLL: usize;
    /// Whether the epilogue through shared memory is left out.
    const DIRECT: bool;
}

/// Each tile has a kernel for each layout, whose MN-major operands are of whole vectors or not.
///
/// Promotion intervals are longest where a block has a multiprocessor to itself: no other block
/// computes while it promotes. Small block tiles are for GEMMs of few tiles, where the accuracy of
/// short intervals is worth more than the 2 % of the time that they take.
macro_rules! sgemm_instances {
    ($prefix:ident, $overlaps:literal) => {
        sgemm_tiles! {
            $overlaps;
            $prefix _128x256: {
                BM = 128, BN = 256, BK = 16, TM = 8, TN = 16, THREADS = 256, STAGES = 4, UNROLL = 2,
                BLOCKS_PER_SM = 1, PROMOTION_INTERVAL = 1024, DIRECT = true,
            }, MN_MAJOR;
            $prefix _128x128: {
                BM = 128, BN = 128, BK = 8, TM = 8, TN = 16, THREADS = 128, STAGES = 4, UNROLL = 2,
                BLOCKS_PER_SM = 2, PROMOTION_INTERVAL = 512, DIRECT = false,
            }, MN_MAJOR_UNALIGNED;
            $prefix _64x64: {
                BM = 64, BN = 64, BK = 8, TM = 8, TN = 8, THREADS = 64, STAGES = 4, UNROLL = 8,
                BLOCKS_PER_SM = 6, PROMOTION_INTERVAL = 256, DIRECT = false,
            }, MN_MAJOR_UNALIGNED;
            $prefix _32x64: {
                BM = 32, BN = 64, BK = 8, TM = 4, TN = 8, THREADS = 64, STAGES = 4, UNROLL = 8,
                BLOCKS_PER_SM = 8, PROMOTION_INTERVAL = 256, DIRECT = false,
            }, MN_MAJOR_UNALIGNED;
            $prefix _128x32: {
                BM = 128, BN = 32, BK = 8, TM = 8, TN = 8, THREADS = 64, STAGES = 6, UNROLL = 8,
                BLOCKS_PER_SM = 6, PROMOTION_INTERVAL = 256, DIRECT = false,
            }, MN_MAJOR_UNALIGNED;
        }
    };
}

macro_rules! sgemm_tiles {
    ($overlaps:literal; $($prefix:ident $size:ident: {
        BM = $bm:literal, BN = $bn:literal, BK = $bk:literal, TM = $tm:literal, TN = $tn:literal,
        THREADS = $threads:literal, STAGES = $stages:literal, UNROLL = $unroll:literal,
        BLOCKS_PER_SM = $blocks_per_sm:literal, PROMOTION_INTERVAL = $promotion_interval:literal,
        DIRECT = $direct:literal $(,)?
    }, $mn_major:ident;)*) => {
        pastey::paste! {
            $(
                struct [<$prefix:camel $size:camel>];

                impl Tile for [<$prefix:camel $size:camel>] {
                    const BM: usize = $bm;
                    const BN: usize = $bn;
                    const BK: usize = $bk;
                    const THREADS: usize = $threads;
                    const STAGES: usize = $stages;
                    const SHARED_BYTES: usize =
                        shared_bytes::<f32>([$bm, $bn, $bk], $stages);
                    const BLOCKS_PER_SM: u32 = $blocks_per_sm;
                    const OVERLAPS: bool = $overlaps;
                    const PROMOTION_INTERVAL: Option<u32> = Some($promotion_interval);
                }

                impl SimtTile for [<$prefix:camel $size:camel>] {
                    const TM: usize = $tm;
                    const TN: usize = $tn;
                    const UNROLL: usize = $unroll;
                    const DIRECT: bool = $direct;
                }

                sgemm_tiles! {
                    @kernel [<$prefix:camel $size:camel>] [<$prefix $size _nn>] K_MAJOR $mn_major
                }
                sgemm_tiles! {
                    @kernel [<$prefix:camel $size:camel>] [<$prefix $size _nt>] K_MAJOR K_MAJOR
                }
                sgemm_tiles! {
                    @kernel [<$prefix:camel $size:camel>] [<$prefix $size _tn>] $mn_major $mn_major
                }
                sgemm_tiles! {
                    @kernel [<$prefix:camel $size:camel>] [<$prefix $size _tt>] $mn_major K_MAJOR
                }
            )*

            /// The instances.
            pub const INSTANCES: &[TileConfig] = &[$(
                sgemm_tiles!(
                    @config [<$prefix:camel $size:camel>] [<$prefix $size _nn>] K_MAJOR $mn_major
                ),
                sgemm_tiles!(
                    @config [<$prefix:camel $size:camel>] [<$prefix $size _nt>] K_MAJOR K_MAJOR
                ),
                sgemm_tiles!(
                    @config [<$prefix:camel $size:camel>] [<$prefix $size _tn>] $mn_major $mn_major
                ),
                sgemm_tiles!(
                    @config [<$prefix:camel $size:camel>] [<$prefix $size _tt>] $mn_major K_MAJOR
                ),
            )*];
        }
    };
    (@config $tile:ident $name:ident $a:ident $b:ident) => {
        TileConfig::new::<$tile>(stringify!($name), [layout::$a, layout::$b])
    };
    (@kernel $tile:ident $name:ident $a:ident $b:ident) => {
        #[doc = concat!(
            "`sgemm` for layouts ", stringify!($a), " of A and ", stringify!($b), " of B."
        )]
        ///
        /// # Safety
        /// See [`tile_config`](crate::gemm::tile_config).
        #[cuda_std::kernel(
            max_threads = $tile::THREADS as u32,
            min_blocks = $tile::BLOCKS_PER_SM,
        )]
        pub unsafe fn $name(
            a: &[f32],
            b: &[f32],
            c: *mut f32,
            workspace: *mut f32,
            params: GemmParams<f32>,
            scheduler: GridSchedulerParams,
        ) {
            let memory = cuda_std::shared::dynamic_shared_mem();
            // SAFETY: operands, C and workspace are as the kernel's contract says, and the plan
            // gives the dynamic shared memory of this instance.
            unsafe {
                body::<
                    { $tile::BM }, { $tile::BN }, { $tile::BK }, { $tile::TM }, { $tile::TN },
                    { $tile::THREADS }, { $tile::STAGES }, { $tile::UNROLL },
                    { layout::$a }, { layout::$b }, { $tile::DIRECT }, { $tile::OVERLAPS },
                    crate::gemm::epilogue::output_op::LinearCombination<f32>,
                >(
                    memory, [a.as_ptr(), b.as_ptr()], [c, workspace], params, scheduler,
                )
            }
        }
    };
}

pub(crate) use {sgemm_instances, sgemm_tiles};

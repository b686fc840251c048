//! The parts of `dgemm` that all GPU generations share: all but the shape of the MMA.

use crate::gemm::GemmParams;
use crate::gemm::copy::{PADDING, Panel, TileLoader, swizzle};
use crate::gemm::element::Output;
use crate::gemm::epilogue::direct::DirectEpilogue;
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::pipeline::cp_async::Pipeline;
use crate::gemm::reduction::fix_up::fix_up_block;
use crate::gemm::reduction::partial_sums;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use cuda_std::async_copy::SharedAddress;
use cuda_std::griddepcontrol;
use cuda_std::hint::{opaque, rolled};
use cuda_std::prelude::*;
use cuda_std::vector::{F64x2, Vector};

/// Rows of A, or columns of B, that a vec2 of each lane covers: two fragments of 8.
const VEC2_SPAN: usize = 16;

/// Elements along k of a k-block, which one MMA takes.
const MMA_K: usize = 4;

/// Rows that a warp stores at a time.
const ROWS_IN_FLIGHT: usize = 4;

/// A lane's operands for a k-block: an element of each fragment. The warp tile has `A` · 16 rows
/// and `B` · 16 columns.
#[derive(Clone, Copy)]
pub struct Fragments<const A: usize, const B: usize> {
    /// Of A, two fragments for each vec2.
    pub a: [[f64; 2]; A],
    /// Of B.
    pub b: [[f64; 2]; B],
}

impl<const A: usize, const B: usize> Fragments<A, B> {
    /// Loads the fragments of a k-block.
    ///
    /// # Safety
    /// `a` and `b` point to this lane's first elements of a k-block in a full stage, and are
    /// aligned to 16 bytes.
    #[inline(always)]
    unsafe fn load(&mut self, a: *const f64, b: *const f64) {
        // SAFETY: the stage is full and the pointers are aligned by the contract of this function.
        // Offsets are multiples of 16 elements and stay in the k-row.
        unsafe {
            for i in 0..A {
                self.a[i] = F64x2::load(a.add(i * VEC2_SPAN));
            }
            for j in 0..B {
                self.b[j] = F64x2::load(b.add(j * VEC2_SPAN));
            }
        }
    }
}

/// A lane's accumulators. The indices: vec2 of A, vec2 of B, fragment of A, fragment of B, and two
/// neighbours in a row of the MMA's result.
pub type Accumulators<const A: usize, const B: usize> = [[[[[f64; 2]; 2]; 2]; B]; A];

impl<const A: usize, const B: usize> partial_sums::Accumulators for Accumulators<A, B> {
    type Element = f64;
    const COUNT: usize = 8 * A * B;

    #[inline(always)]
    fn element(&mut self, index: usize) -> &mut f64 {
        let [i, j] = [index / (8 * B), index / 8 % B];
        &mut self[i][j][index / 4 % 2][index / 2 % 2][index % 2]
    }
}

/// The GEMM, for block tiles of `BM` × `BN`, k-tiles of `BK`, and warp tiles of `A` · 16 × `B` ·
/// 16. `warp_mma` adds A · B of one k-block to the accumulators. `OVERLAPS` is that of the
/// [`Tile`](crate::gemm::tile_config::Tile).
///
/// # Safety
/// As [`tile_config`](crate::gemm::tile_config) says of the kernels. `memory` has
/// `cp_async::shared_bytes::<f64>([BM, BN, BK], STAGES)` bytes of shared memory, aligned to 16.
#[inline(always)]
pub unsafe fn body<
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const THREADS: usize,
    const THREADS_ALONG_K: usize,
    const STAGES: usize,
    const A: usize,
    const B: usize,
    const LAYOUT_A: u32,
    const LAYOUT_B: u32,
    const OVERLAPS: bool,
    Op: OutputOp<f64>,
>(
    memory: *mut f64,
    [a, b]: [*const f64; 2],
    [c, workspace]: [*mut f64; 2],
    (params, scheduler): (GemmParams<f64>, GridSchedulerParams),
    warp_mma: impl Fn(&mut Accumulators<A, B>, &Fragments<A, B>),
) {
    const {
        assert!(BM * BN / (A * B * VEC2_SPAN * VEC2_SPAN) * 32 == THREADS);
        assert!(BK.is_multiple_of(2 * MMA_K) && STAGES >= 3);
        assert!(BM.is_multiple_of(ROWS_IN_FLIGHT * THREADS / 32));
        assert!(BM * (BN + PADDING) <= STAGES * BK * (BM + BN + 2 * PADDING));
    }
    let work = WorkTile::of_this_block(&params, &scheduler, [BM as u32, BN as u32]);
    let mut loader_a = TileLoader::<f64, LAYOUT_A, BM, BK, THREADS, THREADS_ALONG_K>::new(&Panel {
        matrix: a.wrapping_add(work.batch as usize * params.stride_a as usize),
        leading: params.lda,
        extent: params.m,
        first: work.row,
        start: work.k_start,
    });
    let mut loader_b = TileLoader::<f64, LAYOUT_B, BN, BK, THREADS, THREADS_ALONG_K>::new(&Panel {
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
    let stage = |index: u32| shared.at(index * (stage_elements * size_of::<f64>()) as u32);
    let tile_b = |stage: SharedAddress| stage.at((elements_a * size_of::<f64>()) as u32);

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let (wm, wn) = (A * VEC2_SPAN, B * VEC2_SPAN);
    let warps_n = BN / wn;
    let (warp_row, warp_column) = (warp / warps_n * wm, warp % warps_n * wn);
    let (group, in_group) = (lane / 4, lane % 4);
    // From this lane's elements, whose index is 2 · `group` modulo 16, to the swizzled ones.
    let swizzled = if group % 2 == 0 { 2 } else { -2 };
    const { assert!(swizzle::<f64>(THREADS_ALONG_K, MMA_K) <= 2) };

    // SAFETY: zero is a valid float.
    let mut accumulators: Accumulators<A, B> = unsafe { core::mem::zeroed() };
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
        if k_tiles > 0 {
            pipeline.consumer_wait();
            let first_a = memory.add(in_group * pitch_a + warp_row + 2 * group);
            let first_b = memory.add(elements_a + in_group * pitch_b + warp_column + 2 * group);
            let (mut from_a, mut from_b) = (first_a, first_b);
            let k_blocks = BK / MMA_K;
            let mut fragments: [Fragments<A, B>; 2] = core::mem::zeroed();
            fragments[0].load(from_a, from_b);
            let mut k_tile = 1;
            while k_tile <= k_tiles {
                let read_stage = pipeline.consumer_stage;
                for k_block in 0..k_blocks {
                    if k_block + 1 < k_blocks {
                        let k = (k_block + 1) * MMA_K;
                        let distance = if swizzle::<f64>(THREADS_ALONG_K, k) == 0 {
                            0
                        } else {
                            swizzled
                        };
                        fragments[(k_block + 1) % 2].load(
                            from_a.add(k * pitch_a).offset(distance),
                            from_b.add(k * pitch_b).offset(distance),
                        );
                    } else {
                        pipeline.consumer_advance();
                        // After the last k-tile the fragments are loaded from the same offsets once
                        // more, and not used.
                        if k_tile < k_tiles {
                            pipeline.wait_for_both();
                            from_a = first_a.add(pipeline.consumer_stage as usize * stage_elements);
                            from_b = first_b.add(pipeline.consumer_stage as usize * stage_elements);
                        }
                        fragments[0].load(from_a, from_b);
                    }
                    warp_mma(&mut accumulators, &fragments[k_block % 2]);
                    // In the middle of a k-tile, a later one is prefetched to the stage that this
                    // k-tile waited for, or to one that was not used yet. The copies are
                    // predicated, so that MMAs lie between them.
                    if k_block == (k_blocks - 1) / 2 {
                        let more = prefetched < k_tiles;
                        loader_a.copy_if(stage(pipeline.producer_stage), more);
                        loader_b.copy_if(tile_b(stage(pipeline.producer_stage)), more);
                        // Where no k-tile is left, no thread waits for the stage.
                        pipeline.producer_commit();
                        prefetched += 1;
                    }
                }
                pipeline.consumer_release(read_stage);
                k_tile += 1;
            }
        }
        // Where there are stream-K tiles, `splits` is 1.
        let (one, flag) = (f64::from(scheduler.splits), memory.cast());
        if !fix_up_block::<_, THREADS>(&scheduler, &mut accumulators, one, workspace, flag) {
            return;
        }
        let epilogue = DirectEpilogue::<f64, Op>::new(&params, &scheduler, &work, [c, workspace]);
        let block = [work.row as usize, work.column as usize];
        let own = [warp_row + 2 * group, warp_column + 4 * in_group];
        store::<BM, BN, THREADS, A, B, _>(&epilogue, &accumulators, memory, block, own);
    }
}

/// Stores a block's accumulators through shared memory, so that a warp stores neighbours: a lane
/// has four, and stores of these would write each sector of memory four times. The first of this
/// lane are those at `own` in the block's tile, which begins at `block`.
///
/// # Safety
/// All threads of the block execute it, and use its shared memory no more. The epilogue's matrix is
/// in device memory. No other block owns the elements of this tile. `memory` has that of `BM` rows
/// of `BN` + [`PADDING`] elements, aligned to 16.
#[inline(always)]
unsafe fn store<
    const BM: usize,
    const BN: usize,
    const THREADS: usize,
    const A: usize,
    const B: usize,
    Op: OutputOp<f64>,
>(
    epilogue: &DirectEpilogue<f64, Op>,
    accumulators: &Accumulators<A, B>,
    memory: *mut f64,
    block: [usize; 2],
    own: [usize; 2],
) {
    let pitch = BN + PADDING;
    // The stages are free once all warps have arrived here: the last reads are done.
    thread::sync_threads();
    for i in 0..A {
        for row_in_vec2 in 0..2 {
            for j in 0..B {
                let (row, column) = (own[0] + i * VEC2_SPAN + row_in_vec2, own[1] + j * VEC2_SPAN);
                let [even, odd] = accumulators[i][j][row_in_vec2];
                let scaled = [even[0], odd[0], even[1], odd[1]].map(|sum| epilogue.scale(sum));
                // SAFETY: row and column are inside of the tile, the column and the pitch are
                // multiples of 4, and each lane has vectors of its own.
                unsafe { f64::store_4(memory.wrapping_add(row * pitch + column), scaled) };
            }
        }
    }
    thread::sync_threads();
    // SAFETY: the rows were written before the barrier, and the matrix is that of this function's
    // contract.
    unsafe {
        if epilogue.is_source_needed() {
            store_rows::<true, BM, BN, THREADS, Op>(epilogue, memory, block);
        } else {
            store_rows::<false, BM, BN, THREADS, Op>(epilogue, memory, block);
        }
    }
}

/// Stores the rows of a block's scaled accumulators in shared memory. `SOURCE` is whether the
/// epilogue needs a source.
///
/// # Safety
/// All threads of the block execute it. The epilogue's matrix is in device memory. No other block
/// owns the elements of this tile, which begins at `block`. `memory` has `BM` rows of `BN` +
/// [`PADDING`] elements.
#[inline(always)]
unsafe fn store_rows<
    const SOURCE: bool,
    const BM: usize,
    const BN: usize,
    const THREADS: usize,
    Op: OutputOp<f64>,
>(
    epilogue: &DirectEpilogue<f64, Op>,
    memory: *mut f64,
    block: [usize; 2],
) {
    let mut row = opaque(thread::thread_idx_x() as usize / 32);
    while row < BM {
        for i in 0..ROWS_IN_FLIGHT {
            let row = row + i * THREADS / 32;
            let scaled = memory.wrapping_add(row * (BN + PADDING));
            // SAFETY: each warp has rows of its own, and the rest is this function's contract.
            unsafe { epilogue.store_row::<SOURCE, BN>([block[0] + row, block[1]], scaled) };
        }
        row = rolled(row + ROWS_IN_FLIGHT * THREADS / 32);
    }
}

/// The kernels of one GPU generation, whose names begin with `$prefix`, and the list of them. Every
/// generation has the same tiles. What differs is the MMA of a warp, the stages of tiles of 32 rows
/// or columns, as many as let two blocks fit on its SMs, and whether launches overlap.
macro_rules! dgemm_instances {
    ($prefix:ident, $warp_mma:ident, $stages_32:literal, $overlaps:literal) => {
        crate::gemm::mma::main_loop::dgemm_tiles! {
            $warp_mma, $overlaps;
            $prefix _128x128: 128 x 128 of 4 x 2, 256 threads, 8 along k, 4 stages, 1 per SM {
                nn: K_MAJOR, MN_MAJOR;
                nt: K_MAJOR, K_MAJOR;
                tn: MN_MAJOR, MN_MAJOR;
                tt: MN_MAJOR, K_MAJOR;
                nn_elements: K_MAJOR, MN_MAJOR_UNALIGNED;
                tn_elements: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
                tt_elements: MN_MAJOR_UNALIGNED, K_MAJOR;
            }
            $prefix _64x64: 64 x 64 of 2 x 1, 256 threads, 16 along k, 4 stages, 2 per SM {
                nn: K_MAJOR, MN_MAJOR_UNALIGNED;
                nt: K_MAJOR, K_MAJOR;
                tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
                tt: MN_MAJOR_UNALIGNED, K_MAJOR;
            }
            $prefix _128x32: 128 x 32 of 2 x 1,
                256 threads, 16 along k, $stages_32 stages, 2 per SM {
                nn: K_MAJOR, MN_MAJOR_UNALIGNED;
                nt: K_MAJOR, K_MAJOR;
                tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
                tt: MN_MAJOR_UNALIGNED, K_MAJOR;
            }
            $prefix _32x128: 32 x 128 of 2 x 1,
                256 threads, 16 along k, $stages_32 stages, 2 per SM {
                nn: K_MAJOR, MN_MAJOR_UNALIGNED;
                nt: K_MAJOR, K_MAJOR;
                tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
                tt: MN_MAJOR_UNALIGNED, K_MAJOR;
            }
            $prefix _32x64: 32 x 64 of 2 x 1, 128 threads, 16 along k, 4 stages, 4 per SM {
                nn: K_MAJOR, MN_MAJOR_UNALIGNED;
                nt: K_MAJOR, K_MAJOR;
                tn: MN_MAJOR_UNALIGNED, MN_MAJOR_UNALIGNED;
                tt: MN_MAJOR_UNALIGNED, K_MAJOR;
            }
        }
    };
}

macro_rules! dgemm_tiles {
    ($warp_mma:ident, $overlaps:literal; $(
        $prefix:ident $size:ident: $bm:literal x $bn:literal of $a:literal x $b:literal,
        $threads:literal threads, $k_threads:literal along k,
        $stages:literal stages, $blocks_per_sm:literal per SM {
            $($layout:ident: $layout_a:ident, $layout_b:ident;)*
        }
    )*) => {
        pastey::paste! {
            $(
                struct [<$prefix:camel $size:camel>];

                impl Tile for [<$prefix:camel $size:camel>] {
                    const BM: usize = $bm;
                    const BN: usize = $bn;
                    const BK: usize = 16;
                    const THREADS: usize = $threads;
                    const STAGES: usize = $stages;
                    const SHARED_BYTES: usize =
                        shared_bytes::<f64>([$bm, $bn, Self::BK], $stages);
                    const BLOCKS_PER_SM: u32 = $blocks_per_sm;
                    const OVERLAPS: bool = $overlaps;
                }

                $(
                    #[doc = concat!(
                        "`dgemm` for layouts ", stringify!($layout_a), " of A and ",
                        stringify!($layout_b),
                        " of B."
                    )]
                    ///
                    /// # Safety
                    /// See [`tile_config`](crate::gemm::tile_config).
                    #[cuda_std::kernel(max_threads = $threads, min_blocks = $blocks_per_sm)]
                    pub unsafe fn [<$prefix $size _ $layout>](
                        a: &[f64],
                        b: &[f64],
                        c: *mut f64,
                        workspace: *mut f64,
                        params: GemmParams<f64>,
                        scheduler: GridSchedulerParams,
                    ) {
                        let memory = cuda_std::shared::dynamic_shared_mem();
                        // SAFETY: operands, C and workspace are as the kernel's contract says, and
                        // the plan gives the dynamic shared memory of this instance.
                        unsafe {
                            body::<
                                $bm, $bn, { [<$prefix:camel $size:camel>]::BK }, $threads,
                                $k_threads, $stages, $a, $b,
                                { layout::$layout_a }, { layout::$layout_b }, $overlaps,
                                crate::gemm::epilogue::output_op::LinearCombination<f64>,
                            >(
                                memory, [a.as_ptr(), b.as_ptr()], [c, workspace],
                                (params, scheduler),
                                $warp_mma,
                            )
                        }
                    }
                )*
            )*

            /// The instances.
            pub const INSTANCES: &[TileConfig] = &[$($(
                TileConfig::new::<[<$prefix:camel $size:camel>]>(
                    stringify!([<$prefix $size _ $layout>]),
                    [layout::$layout_a, layout::$layout_b],
                ),
            )*)*];
        }
    };
}

pub(crate) use {dgemm_instances, dgemm_tiles};

//! What the kernels of [`gemm`](super::gemm) and of [`gemm_sm_90a`](super::gemm_sm_90a) have in
//! common: block tiles, the epilogue, and the macro that makes a kernel for each tile and layout.

use super::multistage::{Accumulators, WarpTile, stages_bytes};
use super::operand::{MMA_M, MMA_N};
use crate::gemm::GemmParams;
use crate::gemm::element::Output;
use crate::gemm::epilogue::any_matrix::AnyMatrix;
use crate::gemm::epilogue::fusion::{ElementOp, Fused};
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::epilogue::staged::{self, StagedOutput};
use crate::gemm::reduction::fix_up::fix_up_block;
use crate::gemm::reduction::partial_sums;
use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::tile_config::TileConfig;
use cuda_std::prelude::*;

impl<const MMAS_M: usize, const MMAS_N: usize> partial_sums::Accumulators
    for Accumulators<MMAS_M, MMAS_N>
{
    type Element = f32;
    const COUNT: usize = 4 * MMAS_M * MMAS_N;

    #[inline(always)]
    fn element(&mut self, index: usize) -> &mut f32 {
        &mut self[index / (4 * MMAS_N)][index / 4 % MMAS_N][index % 4]
    }
}

/// Bytes of shared memory of the epilogue of a block: the rows of its warps, and a word.
pub const fn epilogue_bytes(threads: usize, mmas_n: usize) -> usize {
    threads / 32 * staged::bytes_per_warp(mmas_n * MMA_N) + 16
}

/// Adds up the partial sums of a stream-K tile, and stores the results of a block: to C, or with
/// split-K the accumulators to the workspace.
///
/// # Safety
/// All threads of the block execute it. `memory` has [`epilogue_bytes`] bytes of shared memory,
/// aligned to 16, that no other access touches. C, workspace and scheduler are those of the launch.
#[inline(always)]
pub unsafe fn finish<
    N: Output<Wide = f32>,
    Op: OutputOp<f32>,
    const BN: usize,
    const MMAS_M: usize,
    const MMAS_N: usize,
    const THREADS: usize,
>(
    memory: *mut u8,
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
    (params, scheduler, work): (&GemmParams<f32>, &GridSchedulerParams, &WorkTile),
    workspace: *mut f32,
    output: StagedOutput<N, Op>,
) {
    let bytes = staged::bytes_per_warp(MMAS_N * MMA_N);
    let warp = WarpTile::of_this_warp(BN, [MMAS_M * MMA_M, MMAS_N * MMA_N]);
    let index = thread::thread_idx_x() as usize / 32;
    let flag = memory.wrapping_add(THREADS / 32 * bytes).cast();
    // Where there are stream-K tiles, `splits` is 1.
    let one = scheduler.splits as f32;
    // SAFETY: the conditions are those of this function. The word of the flag lies behind the
    // memory of the warps.
    unsafe {
        if !fix_up_block::<_, THREADS>(scheduler, accumulators, one, workspace, flag) {
            return;
        }
        let (row, column) = (
            work.row as usize + warp.row,
            work.column as usize + warp.column,
        );
        let memory = memory.wrapping_add(index * bytes).cast();
        let output = if scheduler.splits > 1 {
            StagedOutput::of_split(params, scheduler, work, workspace)
        } else {
            output
        };
        output.store(accumulators, memory, [row, column]);
    }
}

/// C of a work tile, with the operator of a launch.
#[inline(always)]
pub(super) fn output<N: Output<Wide = f32>, F: ElementOp>(
    c: *mut u8,
    is_16bit: bool,
    params: &GemmParams<f32>,
    batch: u32,
    then: F,
) -> StagedOutput<N, Fused<F>> {
    let offset = batch as usize * params.stride_c as usize;
    StagedOutput {
        c: AnyMatrix::new(c, offset, params.ldc as usize, is_16bit),
        extents: [params.m as usize, params.n as usize],
        op: Fused::with(params, then),
    }
}

/// The tables of kernels: of each tile a kernel for each pair of layouts. Where `$overlaps`, a
/// launch begins while the one in front ends.
macro_rules! mma_kernels {
    ($overlaps:literal; $(
        $prefix:ident, $list:ident: $element:ty, $stored:ty, $c_16bit:ty, $module:ident {
            $($tile:ident, $size:ident {
                $($layout:ident: $a:ident, $b:ident, [$($range:ident)?];)*
            })*
        }
    )*) => {
        pastey::paste! {
            $(
                $($(
                    #[doc = concat!(
                        "`", stringify!($prefix), "` for layouts ", stringify!($a), " of A and ",
                        stringify!($b), " of B."
                    )]
                    ///
                    /// # Safety
                    /// See [`tile_config`](crate::gemm::tile_config). C is of the type that
                    /// `fusion` says; `bias` and `residual` are as [`Chosen::new`] asks. A range is
                    /// as [`Range`](super::split::Range) says.
                    #[cuda_std::kernel(
                        max_threads = $tile::THREADS as u32,
                        min_blocks = $tile::MIN_BLOCKS,
                    )]
                    pub unsafe fn [<$prefix $size $layout>](
                        a: &[$stored],
                        b: &[$stored],
                        c: *mut u8,
                        workspace: *mut f32,
                        params: GemmParams<f32>,
                        scheduler: GridSchedulerParams,
                        fusion: FusionParams,
                        bias: *const u8,
                        residual: *const u8,
                        $($range: *const split::Range,)?
                    ) {
                        let wait = || {
                            if $overlaps {
                                griddepcontrol::wait();
                            }
                        };
                        $(
                            wait();
                            // SAFETY: the kernel's contract says what the range is. All threads are
                            // here.
                            if unsafe { split::is_left_out($range, params.k) } {
                                return;
                            }
                        )?
                        let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                        let operands = Operands { a: a.as_ptr(), b: b.as_ptr() };
                        let tile = [$tile::BM as u32, $tile::BN as u32];
                        let work = WorkTile::of_this_block(&params, &scheduler, tile);
                        // SAFETY: operands, C, bias, residual and workspace are as the kernel's
                        // contract says, and the plan gives the shared memory of this instance.
                        unsafe {
                            let mut accumulators: Accumulators<
                                { $tile::MMAS_M }, { $tile::MMAS_N },
                            > = core::mem::zeroed();
                            $module::main_loop::<
                                $element, { $tile::BM }, { $tile::BN }, { $tile::MMAS_M },
                                { $tile::MMAS_N }, { $tile::THREADS }, { $tile::STAGES },
                                { layout::$a }, { layout::$b },
                            >(
                                memory,
                                || {
                                    let work =
                                        WorkTile::of_this_block_again(&params, &scheduler, tile);
                                    panels(&operands, &params, &work)
                                },
                                work.k_extent,
                                wait,
                                &mut accumulators,
                            );
                            let work =
                                WorkTile::of_this_block_again(&params, &scheduler, tile);
                            let offset = work.batch as usize * params.stride_c as usize;
                            let then = Chosen::<$c_16bit>::new(fusion, [bias, residual]);
                            let then = then.of_matrix(offset);
                            let is_16bit = fusion.c_16bit != 0;
                            finish::<
                                $c_16bit, _, { $tile::BN }, { $tile::MMAS_M }, { $tile::MMAS_N },
                                { $tile::THREADS },
                            >(
                                memory, &mut accumulators, (&params, &scheduler, &work), workspace,
                                output(c, is_16bit, &params, work.batch, then),
                            );
                        }
                    }
                )*)*

                #[doc = concat!("The kernels `", stringify!($prefix), "`.")]
                pub const $list: &[TileConfig] = &[$($(
                    config::<$tile>(
                        stringify!([<$prefix $size $layout>]),
                        <$element as TileElement>::BK,
                        [layout::$a, layout::$b],
                    ),
                )*)*];
            )*
        }
    };
}

pub(super) use mma_kernels;

/// The constants of a block tile of this main loop.
pub(super) trait MmaTile {
    /// See [`Tile::BM`](crate::gemm::tile_config::Tile::BM).
    const BM: usize;
    /// See [`Tile::BN`](crate::gemm::tile_config::Tile::BN).
    const BN: usize;
    /// MMAs of a warp tile along m, and along n.
    const MMAS_M: usize;
    /// See [`MMAS_M`](Self::MMAS_M).
    const MMAS_N: usize;
    /// Threads of a block.
    const THREADS: usize = Self::BM * Self::BN / (Self::MMAS_M * MMA_M * Self::MMAS_N * MMA_N) * 32;
    /// Stages of the pipeline.
    const STAGES: usize;
    /// Blocks that fit on an SM of the largest GPUs.
    const MIN_BLOCKS: u32;
}

/// The kernel `entry` with the constants of `T`, of elements with k-tiles of `bk`.
pub(super) const fn config<T: MmaTile>(
    entry: &'static str,
    bk: usize,
    layouts: [u32; 2],
) -> TileConfig {
    let stages = stages_bytes([T::BM, T::BN], layouts, T::STAGES);
    let epilogue = epilogue_bytes(T::THREADS, T::MMAS_N);
    TileConfig {
        entry,
        tile: [T::BM as u32, T::BN as u32, bk as u32],
        narrowest: T::BN as u32,
        threads: T::THREADS as u32,
        shared_bytes: if stages > epilogue {
            stages as u32
        } else {
            epilogue as u32
        },
        clusters: &[ClusterShape::ALONE],
        blocks_per_sm: T::MIN_BLOCKS,
        promotion_interval: None,
        layouts,
    }
}

/// Eight warps of 64 × 64, which have the registers of an SM. The shared memory of four stages, 96
/// KiB, fits that of a block on each generation.
#[cfg(sm_80_up)]
pub(super) struct Tall;

#[cfg(sm_80_up)]
impl MmaTile for Tall {
    const BM: usize = 256;
    const BN: usize = 128;
    const MMAS_M: usize = 4;
    const MMAS_N: usize = 8;
    const STAGES: usize = 4;
    const MIN_BLOCKS: u32 = 1;
}

/// Four warps of 64 × 64. Two blocks have the registers of an SM.
#[cfg(sm_80_up)]
pub(super) struct Large;

#[cfg(sm_80_up)]
impl MmaTile for Large {
    const BM: usize = 128;
    const BN: usize = 128;
    const MMAS_M: usize = 4;
    const MMAS_N: usize = 8;
    const STAGES: usize = 3;
    const MIN_BLOCKS: u32 = 2;
}

/// Four warps of 32 × 32.
pub(super) struct Small;

impl MmaTile for Small {
    const BM: usize = 64;
    const BN: usize = 64;
    const MMAS_M: usize = 2;
    const MMAS_N: usize = 4;
    const STAGES: usize = 4;
    const MIN_BLOCKS: u32 = 3;
}

/// [`Small`] for operands whose rows begin anywhere.
pub(super) struct SmallAny;

impl MmaTile for SmallAny {
    const BM: usize = Small::BM;
    const BN: usize = Small::BN;
    const MMAS_M: usize = Small::MMAS_M;
    const MMAS_N: usize = Small::MMAS_N;
    const STAGES: usize = Small::STAGES;
    const MIN_BLOCKS: u32 = 4;
}

/// Four warps of 32 × 64, for operands whose rows begin anywhere: C has few columns, but more than
/// [`FewColumns`] takes at once, and A is read once.
pub(super) struct Wide;

impl MmaTile for Wide {
    const BM: usize = 64;
    const BN: usize = 128;
    const MMAS_M: usize = 2;
    const MMAS_N: usize = 8;
    const STAGES: usize = 4;
    const MIN_BLOCKS: u32 = 3;
}

/// The same for few rows, in warps of 64 × 32.
pub(super) struct High;

impl MmaTile for High {
    const BM: usize = 128;
    const BN: usize = 64;
    const MMAS_M: usize = 4;
    const MMAS_N: usize = 4;
    const STAGES: usize = 4;
    const MIN_BLOCKS: u32 = 3;
}

/// [`SmallAny`] for few rows: A is short, and B is read once.
pub(super) struct FewRows;

impl MmaTile for FewRows {
    const BM: usize = 32;
    const BN: usize = 128;
    const MMAS_M: usize = Small::MMAS_M;
    const MMAS_N: usize = Small::MMAS_N;
    const STAGES: usize = Small::STAGES;
    const MIN_BLOCKS: u32 = 4;
}

/// The same for few columns.
pub(super) struct FewColumns;

impl MmaTile for FewColumns {
    const BM: usize = 128;
    const BN: usize = 32;
    const MMAS_M: usize = Small::MMAS_M;
    const MMAS_N: usize = Small::MMAS_N;
    const STAGES: usize = Small::STAGES;
    const MIN_BLOCKS: u32 = 4;
}

//! `gemm_f16_…`, `gemm_bf16_…`, `gemm_tf32_…`, `gemm_f32_split_…`: GEMMs of 16-bit elements, of
//! TF32 and of f32 in [terms of bf16](super::split) on tensor cores, by `mma.sync`, on GPUs of
//! compute capability 8.0 and later.
//!
//! # Idea
//! The rung [`mma_bf16`](crate::ladder::matmul::mma) for any size and layout. Where the rows of
//! both operands start at multiples of 16 bytes, asynchronous copies bring vectors, of which those
//! at the edges are read in part. Other operands are loaded element by element, by one kernel for
//! all of their layouts. The grid is that of the SIMT kernels: data-parallel, split-K or stream-K
//! tiles.
//!
//! # Thread mapping
//! A block tile of 256 × 128 has eight warps of 64 × 64, one of 128 × 128 has four, and one of 64 ×
//! 64 has four of 32 × 32.
//!
//! # Preconditions
//! See [`tile_config`](crate::gemm::tile_config). The kernels take three more parameters, those of
//! the [fused operator](crate::gemm::epilogue::fusion), bias and residual.
//!
//! # What changed since the rung before
//! Against `mma_bf16`: edges, layouts, α and β, batches, split-K and stream-K; fragments are
//! double-buffered; C of 16-bit elements; fused operators.
//!
//! # Source
//! Beyond the sources. PTX ISA, "mma.sync", "ldmatrix", "cp.async".

use super::multistage::{self, Accumulators, Operands, WarpTile, panels, stages_bytes};
use super::operand::{MMA_M, MMA_N, TileElement, tile_bytes};
use super::split::{self, SplitF32};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::Output;
use crate::gemm::epilogue::any_matrix::AnyMatrix;
use crate::gemm::epilogue::fusion::{Chosen, ElementOp, Fused, FusionParams};
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::epilogue::staged::{self, StagedOutput};
use crate::gemm::reduction::fix_up::fix_up_block;
use crate::gemm::reduction::partial_sums;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::tile_config::TileConfig;
use cuda_std::float16::{bf16, f16};
use cuda_std::mma::{Bf16, F16, Tf32};
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
fn output<N: Output<Wide = f32>, F: ElementOp>(
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

/// The tables of kernels: of each tile a kernel for each pair of layouts.
macro_rules! mma_kernels {
    ($(
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
                    /// as [`split::is_left_out`] asks.
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
                        $(
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
                                { tile_bytes($tile::BM) / 16 / $tile::THREADS },
                                { tile_bytes($tile::BN) / 16 / $tile::THREADS },
                                { layout::$a }, { layout::$b },
                            >(
                                memory,
                                || {
                                    let work =
                                        WorkTile::of_this_block_again(&params, &scheduler, tile);
                                    panels(&operands, &params, &work)
                                },
                                work.k_extent,
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
    let stages = stages_bytes([T::BM, T::BN], T::STAGES);
    let epilogue = epilogue_bytes(T::THREADS, T::MMAS_N);
    TileConfig {
        entry,
        tile: [T::BM as u32, T::BN as u32, bk as u32],
        threads: T::THREADS as u32,
        shared_bytes: if stages > epilogue {
            stages as u32
        } else {
            epilogue as u32
        },
        cluster_size: 1,
        blocks_per_sm: T::MIN_BLOCKS,
        promotion_interval: None,
        layouts,
    }
}

/// Eight warps of 64 × 64, which have the registers of an SM. The shared memory of four stages, 96
/// KiB, fits that of a block on each generation.
pub(super) struct Tall;

impl MmaTile for Tall {
    const BM: usize = 256;
    const BN: usize = 128;
    const MMAS_M: usize = 4;
    const MMAS_N: usize = 8;
    const STAGES: usize = 4;
    const MIN_BLOCKS: u32 = 1;
}

/// Four warps of 64 × 64. Two blocks have the registers of an SM.
pub(super) struct Large;

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

/// [`Small`] for operands that are loaded by elements, which takes more registers.
pub(super) struct SmallElements;

impl MmaTile for SmallElements {
    const BM: usize = Small::BM;
    const BN: usize = Small::BN;
    const MMAS_M: usize = Small::MMAS_M;
    const MMAS_N: usize = Small::MMAS_N;
    const STAGES: usize = Small::STAGES;
    const MIN_BLOCKS: u32 = 2;
}

/// [`Large`] in warps of 32 × 64: an accumulator has a sum of its own beside it.
struct LargeSplit;

impl MmaTile for LargeSplit {
    const BM: usize = 128;
    const BN: usize = 128;
    const MMAS_M: usize = 2;
    const MMAS_N: usize = 8;
    const STAGES: usize = 4;
    const MIN_BLOCKS: u32 = 1;
}

/// [`Small`] with such sums.
struct SmallSplit;

impl MmaTile for SmallSplit {
    const BM: usize = Small::BM;
    const BN: usize = Small::BN;
    const MMAS_M: usize = Small::MMAS_M;
    const MMAS_N: usize = Small::MMAS_N;
    const STAGES: usize = Small::STAGES;
    const MIN_BLOCKS: u32 = 2;
}

/// All tiles in all layouts.
macro_rules! mma_families {
    ($(
        $prefix:ident, $list:ident, [$($tall:ident)?] $large:ident, $small:ident:
        $element:ty, $stored:ty, $c_16bit:ty, $module:ident $range:tt;
    )*) => {
        mma_kernels! {
            $(
                $prefix, $list: $element, $stored, $c_16bit, $module {
                    $($tall, _256x128_ {
                        nn: K_MAJOR_VECTORS, MN_MAJOR_VECTORS, $range;
                        nt: K_MAJOR_VECTORS, K_MAJOR_VECTORS, $range;
                        tn: MN_MAJOR_VECTORS, MN_MAJOR_VECTORS, $range;
                        tt: MN_MAJOR_VECTORS, K_MAJOR_VECTORS, $range;
                    })?
                    $large, _128x128_ {
                        nn: K_MAJOR_VECTORS, MN_MAJOR_VECTORS, $range;
                        nt: K_MAJOR_VECTORS, K_MAJOR_VECTORS, $range;
                        tn: MN_MAJOR_VECTORS, MN_MAJOR_VECTORS, $range;
                        tt: MN_MAJOR_VECTORS, K_MAJOR_VECTORS, $range;
                    }
                    $small, _64x64_ {
                        nn: K_MAJOR_VECTORS, MN_MAJOR_VECTORS, $range;
                        nt: K_MAJOR_VECTORS, K_MAJOR_VECTORS, $range;
                        tn: MN_MAJOR_VECTORS, MN_MAJOR_VECTORS, $range;
                        tt: MN_MAJOR_VECTORS, K_MAJOR_VECTORS, $range;
                    }
                    SmallElements, _64x64_ { elements: ANY, ANY, $range; }
                }
            )*
        }
    };
}

mma_families! {
    gemm_f16, OF_F16, [Tall] Large, Small: F16, u16, f16, multistage [];
    gemm_bf16, OF_BF16, [Tall] Large, Small: Bf16, u16, bf16, multistage [];
    gemm_tf32, OF_TF32, [] Large, Small: Tf32, f32, f32, multistage [];
    gemm_f32_split, OF_F32_SPLIT, [] LargeSplit, SmallSplit: SplitF32, f32, f32, split [range];
}

//! `gemm_i8_…`: GEMMs of 8-bit integers on tensor cores, by `mma.sync`, on GPUs of compute
//! capability 8.0 and later.
//!
//! # Idea
//! The [kernels of 16-bit elements](super::gemm) with another MMA. Four elements lie in a register,
//! and `ldmatrix` transposes pairs of them, so fragments come from K-major tiles alone. Operands
//! that lie so are copied by vectors. All others have a kernel that takes them
//! [as they lie](super::unaligned), or are [copied](super::k_major) first where the product is
//! large. Accumulators are i32, whose sums are exact modulo 2³². They go through the main loop and
//! the epilogue as the f32 of the same bits.
//!
//! # Thread mapping
//! That of [`gemm`](super::gemm).
//!
//! # Preconditions
//! See [`tile_config`](crate::gemm::tile_config). `c_type` is a constant of
//! [`c_type`]. Tiles are not split by split-K.
//!
//! # What changed since the rung before
//! Against `gemm_mma_bf16`: integers, and C of a type that the launch asks for.
//!
//! # Source
//! Beyond the sources. PTX ISA, "mma.sync", "ldmatrix".

use super::multistage::{self, Accumulators, Operands, WarpTile, panels};
use super::operand::{MMA_M, MMA_N, TileElement};
use super::table::{Large, MmaTile, Small, Tall, config};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::Bits16;
use crate::gemm::epilogue::any_matrix::AnyMatrix;
use crate::gemm::epilogue::convert::{Convert, c_type};
use crate::gemm::epilogue::output_op::OutputOp;
use crate::gemm::epilogue::staged::{self, StagedOutput};
use crate::gemm::reduction::fix_up::fix_up_block;
use crate::gemm::reduction::partial_sums::IntegerSums;
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::tile_config::TileConfig;
use core::num::Wrapping;
use cuda_std::mma::S8;
use cuda_std::prelude::*;

/// Adds up the partial sums of a stream-K tile, and stores the results of a block to C.
///
/// # Safety
/// All threads of the block, of which there are `THREADS`, execute it. `memory` has
/// [`epilogue_bytes`](super::table::epilogue_bytes) bytes of shared memory, aligned to 16, that
/// nothing else uses. Workspace and C are as [`tile_config`](crate::gemm::tile_config) says.
#[inline(always)]
unsafe fn finish<
    const BN: usize,
    const MMAS_M: usize,
    const MMAS_N: usize,
    const THREADS: usize,
>(
    memory: *mut u8,
    accumulators: &mut Accumulators<MMAS_M, MMAS_N>,
    (scheduler, work): (&GridSchedulerParams, &WorkTile),
    workspace: *mut i32,
    output: StagedOutput<Bits16, Convert<true, 0>>,
) {
    let bytes = staged::bytes_per_warp(MMAS_N * MMA_N);
    let warp = WarpTile::of_this_warp(BN, [MMAS_M * MMA_M, MMAS_N * MMA_N]);
    let index = thread::thread_idx_x() as usize / 32;
    let flag = memory.wrapping_add(THREADS / 32 * bytes).cast();
    // See `fix_up_block`: `splits` is 1.
    let one = Wrapping(scheduler.splits as i32);
    // SAFETY: the conditions are those of this function. The accumulators have the bits of i32. The
    // word of the flag lies behind the memory of the warps.
    unsafe {
        let integers = IntegerSums::of(accumulators);
        if !fix_up_block::<_, THREADS>(scheduler, integers, one, workspace.cast(), flag) {
            return;
        }
        let (row, column) = (
            work.row as usize + warp.row,
            work.column as usize + warp.column,
        );
        let memory = memory.wrapping_add(index * bytes).cast();
        output.store(accumulators, memory, [row, column]);
    }
}

/// C of a work tile.
#[inline(always)]
fn output(
    c: *mut u8,
    params: &GemmParams<f32>,
    batch: u32,
    c_type: u32,
) -> StagedOutput<Bits16, Convert<true, 0>> {
    let offset = batch as usize * params.stride_c as usize;
    let is_16bit = c_type >= c_type::F16;
    StagedOutput {
        c: AnyMatrix::new(c, offset, params.ldc as usize, is_16bit),
        extents: [params.m as usize, params.n as usize],
        op: Convert::new(params).into_c(c_type),
    }
}

/// [`Small`] for operands whose rows begin anywhere, of which a lane has four in a register.
struct SmallAny8;

impl MmaTile for SmallAny8 {
    const BM: usize = Small::BM;
    const BN: usize = Small::BN;
    const MMAS_M: usize = Small::MMAS_M;
    const MMAS_N: usize = Small::MMAS_N;
    const STAGES: usize = Small::STAGES;
    const MIN_BLOCKS: u32 = 3;
}

macro_rules! integer_kernels {
    ($($name:ident: $tile:ident, $layout:ident;)*) => {
        $(
            #[doc = concat!("A and B in layout ", stringify!($layout), ".")]
            ///
            /// # Safety
            /// See [`tile_config`](crate::gemm::tile_config). C is of the type that `c_type` says.
            #[cuda_std::kernel(
                max_threads = $tile::THREADS as u32,
                min_blocks = $tile::MIN_BLOCKS,
            )]
            pub unsafe fn $name(
                a: &[i8],
                b: &[i8],
                c: *mut u8,
                workspace: *mut i32,
                params: GemmParams<f32>,
                scheduler: GridSchedulerParams,
                c_type: u32,
            ) {
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let operands = Operands { a: a.as_ptr(), b: b.as_ptr() };
                let tile = [$tile::BM as u32, $tile::BN as u32];
                let work = WorkTile::of_this_block(&params, &scheduler, tile);
                // SAFETY: operands, C and workspace are as the kernel's contract says, and the plan
                // gives the shared memory of this instance.
                unsafe {
                    let mut accumulators: Accumulators<{ $tile::MMAS_M }, { $tile::MMAS_N }> =
                        core::mem::zeroed();
                    multistage::main_loop::<
                        S8, { $tile::BM }, { $tile::BN }, { $tile::MMAS_M }, { $tile::MMAS_N },
                        { $tile::THREADS }, { $tile::STAGES },
                        { layout::$layout }, { layout::$layout },
                    >(
                        memory,
                        || {
                            let work = WorkTile::of_this_block_again(&params, &scheduler, tile);
                            panels(&operands, &params, &work)
                        },
                        work.k_extent,
                        || {},
                        &mut accumulators,
                    );
                    let work = WorkTile::of_this_block_again(&params, &scheduler, tile);
                    finish::<
                        { $tile::BN }, { $tile::MMAS_M }, { $tile::MMAS_N }, { $tile::THREADS },
                    >(
                        memory, &mut accumulators, (&scheduler, &work), workspace,
                        output(c, &params, work.batch, c_type),
                    );
                }
            }
        )*

        /// The kernels `gemm_i8`.
        pub const OF_I8: &[TileConfig] = &[$(
            config::<$tile>(
                stringify!($name),
                <S8 as TileElement>::BK,
                [layout::$layout, layout::$layout],
            ),
        )*];
    };
}

integer_kernels! {
    gemm_i8_256x128_nt: Tall, K_MAJOR_VECTORS;
    gemm_i8_128x128_nt: Large, K_MAJOR_VECTORS;
    gemm_i8_64x64_nt: Small, K_MAJOR_VECTORS;
    gemm_i8_64x64_any: SmallAny8, ANY;
}

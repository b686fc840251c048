//! `wgmma_i8_…`: GEMMs of 8-bit integers by warpgroups.
//!
//! # Idea
//! The [kernels of 16-bit elements](super::kernels) with another MMA. Accumulators are i32, whose
//! sums are exact modulo 2³², so there is one level of accumulation. They go to the epilogue as the
//! f32 of the same bits, and [`Convert`] stores C of the type that a launch asks for.
//!
//! # Thread mapping
//! As in `wgmma_bf16`, with tiles of 128 rows and of 256, 128 or 64 columns.
//!
//! # Preconditions
//! Those of `wgmma_bf16`. The tensor cores take 8-bit operands that are K-major; others are
//! [copied](super::pack) first. `c_type` is a constant of
//! [`c_type`](crate::gemm::epilogue::convert::c_type), of as many bytes as the elements of C.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16`: integers, and C of a type that the launch asks for.
//!
//! # Source
//! Beyond the sources. PTX ISA, "wgmma.mma_async".

use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::Bits16;
use crate::gemm::epilogue::convert::Convert;
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::persistent::TileSchedulerParams;
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::boxes::OperandBoxes;
use crate::gemm::wgmma::multicast::{ALONE, FROM_2_TO_8, UP_TO_8};
use crate::gemm::wgmma::source::{OperandSource, SS, UnitTiles};
use crate::gemm::wgmma::stage::{StageCoord, TensorMaps, WM};
use crate::gemm::wgmma::warp_specialized::{WgmmaTile, body, threads};
use cuda_std::mma::S8;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR};

/// Both operands, of integers, lie in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct IntegerSS;

/// The operand source without the types of accumulators.
type Operands = SS<S8, K_MAJOR, K_MAJOR>;

impl OperandSource for IntegerSS {
    const BYTES: usize = S8::BYTES;
    const A_K_MAJOR: bool = true;
    const B_K_MAJOR: bool = true;
    const C_TRANSPOSED: bool = false;
    const INTEGER: bool = true;

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        coord: StageCoord,
    ) {
        // SAFETY: the contract is that of this function.
        unsafe { Operands::load::<S, R, CONSUMERS>(pipeline, maps, coord) }
    }

    #[inline(always)]
    unsafe fn mma_tiles<S: Accumulator, R: Stages, C, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        // SAFETY: the contract is that of this function.
        unsafe { Operands::accumulate::<S, R, CONSUMERS>(pipeline, tiles.count, warpgroup) }
    }
}

macro_rules! integer_kernels {
    ($($list:ident: $output:ty, $bytes:literal {
        $($name:ident: $bm:literal x $bn:literal in $clusters:ident;)*
    })*) => {
        $(
            $(
                #[doc = concat!("Tiles of ", $bm, " × ", $bn, ", C of ", $bytes, " bytes.")]
                ///
                /// # Safety
                /// As for the [kernels of 16-bit elements](super::kernels).
                #[cuda_std::kernel(max_threads = threads($bm) as u32, min_blocks = 1)]
                pub unsafe fn $name(
                    maps: *const TensorMaps,
                    c: *mut $output,
                    workspace: *mut f32,
                    params: GemmParams<f32>,
                    scheduler: TileSchedulerParams,
                    boxes: [OperandBoxes; 2],
                    c_type: u32,
                ) {
                    let op = |op: Convert<true, $bytes>| op.into_c(c_type);
                    // SAFETY: this kernel has the contract of `body`.
                    unsafe {
                        body::<_, [f32; $bn / 2], $output, _, { $bm / WM }>(
                            maps, (c, workspace), params, (scheduler, boxes), (IntegerSS, op),
                        )
                    }
                }
            )*

            #[doc = concat!("The kernels whose C has elements of ", $bytes, " bytes.")]
            pub const $list: &[TileConfig] = &[$(
                TileConfig::new::<WgmmaTile<IntegerSS, [f32; $bn / 2], { $bm / WM }>>(
                    stringify!($name),
                    [layout::K_MAJOR; 2],
                )
                .in_clusters($clusters),
            )*];
        )*
    };
}

integer_kernels! {
    OF_I8: f32, 4 {
        wgmma_i8_nt: 128 x 256 in UP_TO_8;
        wgmma_i8_nt_128: 128 x 128 in UP_TO_8;
        wgmma_i8_nt_64: 128 x 64 in ALONE;
        wgmma_i8_nt_64x64: 64 x 64 in FROM_2_TO_8;
    }
    OF_I8_TO_16_BITS: Bits16, 2 {
        wgmma_i8_nt_to_16bit: 128 x 256 in UP_TO_8;
        wgmma_i8_nt_128_to_16bit: 128 x 128 in UP_TO_8;
        wgmma_i8_nt_64_to_16bit: 128 x 64 in ALONE;
        wgmma_i8_nt_64x64_to_16bit: 64 x 64 in FROM_2_TO_8;
    }
}

//! `gemm_f16_…`, `gemm_bf16_…`, `gemm_tf32_…`, `gemm_f32_split_…`: GEMMs of 16-bit elements, of
//! TF32 and of f32 in [terms of bf16](super::split) on tensor cores, by `mma.sync`, on GPUs of
//! compute capability 8.0 and later.
//!
//! # Idea
//! The rung [`mma_bf16`](crate::ladder::matmul::mma) for any size and layout. Where the rows of
//! both operands start at multiples of 16 bytes, asynchronous copies bring vectors, of which those
//! at the edges are read in part. Other operands have kernels that take them
//! [as they lie](super::unaligned), in any layout. The grid is that of the SIMT kernels:
//! data-parallel, split-K or stream-K tiles.
//!
//! # Thread mapping
//! A block tile of 256 × 128 has eight warps of 64 × 64, one of 128 × 128 has four, and one of 64 ×
//! 64, 32 × 128 or 128 × 32 has four of 32 × 32.
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

use super::multistage::{self, Accumulators, Operands, panels};
use super::operand::TileElement;
use super::split::{self, SplitF32};
use super::table::{
    FewColumns, FewRows, High, Large, MmaTile, Small, SmallAny, Tall, Wide, config, finish,
    mma_kernels, output,
};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::epilogue::fusion::{Chosen, ElementOp, FusionParams};
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::tile_config::TileConfig;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::mma::{Bf16, F16, Tf32};

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
        $prefix:ident, $list:ident, [$($tall:ident)?] $large:ident, $small:ident,
        [$($few_rows:ident, $few_columns:ident, $high:ident, $wide:ident)?] $small_any:ident:
        $element:ty, $stored:ty, $c_16bit:ty, $module:ident $range:tt;
    )*) => {
        mma_kernels! {
            false;
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
                    $small_any, _64x64_ { any: ANY, ANY, $range; }
                    $(
                        $few_rows, _32x128_ { any: ANY, ANY, $range; }
                        $few_columns, _128x32_ { any: ANY, ANY, $range; }
                        $high, _128x64_ { any: ANY, ANY, $range; }
                        $wide, _64x128_ { any: ANY, ANY, $range; }
                    )?
                }
            )*
        }
    };
}

mma_families! {
    gemm_f16, OF_F16, [Tall] Large, Small, [FewRows, FewColumns, High, Wide] SmallAny:
    F16, u16, f16, multistage [];
    gemm_bf16, OF_BF16, [Tall] Large, Small, [FewRows, FewColumns, High, Wide] SmallAny:
    Bf16, u16, bf16, multistage [];
    gemm_tf32, OF_TF32, [] Large, Small, [FewRows, FewColumns, High, Wide] SmallAny:
    Tf32, f32, f32, multistage [];
    gemm_f32_split, OF_F32_SPLIT, [] LargeSplit, SmallSplit, [] SmallSplit:
    SplitF32, f32, f32, split [range];
}

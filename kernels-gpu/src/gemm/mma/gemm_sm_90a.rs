//! `gemm_90_f16_…`, `gemm_90_bf16_…`, `gemm_90_tf32_…`: GEMMs of operands that TMA does not take,
//! on compute capability 9.0.
//!
//! # Idea
//! TMA takes rows that begin at multiples of 16 bytes, and for `wgmma` others must be copied first.
//! A product with few rows or columns takes less time than that. These kernels take operands
//! [as they lie](super::unaligned), and their launches overlap.
//!
//! # Thread mapping
//! That of `gemm`.
//!
//! # Preconditions
//! As for `gemm`.
//!
//! # What changed since the rung before
//! Against `gemm`: [`griddepcontrol`] before the first copies, and copies that bring lines into the
//! L2 cache.
//!
//! # Source
//! Beyond the sources; PTX ISA, "griddepcontrol", "cp.async".

use super::multistage::{self, Accumulators, Operands, panels};
use super::operand::TileElement;
use super::table::{
    FewColumns, FewRows, High, MmaTile, SmallAny, Wide, config, finish, mma_kernels, output,
};
use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::epilogue::fusion::{Chosen, ElementOp, FusionParams};
use crate::gemm::scheduler::grid::{GridSchedulerParams, WorkTile};
use crate::gemm::tile_config::TileConfig;
use cuda_std::float16::{bf16, f16};
use cuda_std::griddepcontrol;
use cuda_std::mma::{Bf16, F16, Tf32};

mma_kernels! {
    true;
    gemm_90_f16, OF_F16: F16, u16, f16, multistage {
        SmallAny, _64x64_ { any: ANY, ANY, []; }
        FewRows, _32x128_ { any: ANY, ANY, []; }
        FewColumns, _128x32_ { any: ANY, ANY, []; }
        High, _128x64_ { any: ANY, ANY, []; }
        Wide, _64x128_ { any: ANY, ANY, []; }
    }
    gemm_90_bf16, OF_BF16: Bf16, u16, bf16, multistage {
        SmallAny, _64x64_ { any: ANY, ANY, []; }
        FewRows, _32x128_ { any: ANY, ANY, []; }
        FewColumns, _128x32_ { any: ANY, ANY, []; }
        High, _128x64_ { any: ANY, ANY, []; }
        Wide, _64x128_ { any: ANY, ANY, []; }
    }
    gemm_90_tf32, OF_TF32: Tf32, f32, f32, multistage {
        SmallAny, _64x64_ { any: ANY, ANY, []; }
        FewRows, _32x128_ { any: ANY, ANY, []; }
        FewColumns, _128x32_ { any: ANY, ANY, []; }
        High, _128x64_ { any: ANY, ANY, []; }
        Wide, _64x128_ { any: ANY, ANY, []; }
    }
}

//! `wgmma_fp8_…`: GEMMs of 8-bit floats, E4M3 and E5M2, by warpgroups.
//!
//! # Idea
//! The tensor cores of Hopper keep about 14 bits of a sum of products of 8-bit floats. So sums are
//! promoted: after each k-tile, of 128 elements, the accumulators are added to f32 registers, which
//! round to 24 bits, and begin at zero again. Fast accumulation does not promote.
//!
//! Where registers hold two sets of accumulators beside the promoted ones, the MMAs of a k-tile are
//! in flight while the accumulators of the one before it are promoted. In wider tiles those of the
//! other warpgroup are.
//!
//! A launch says of which types A and B are, and which scales they have. With one scale for each of
//! the matrices, α is multiplied by both. With scales of blocks, each promotion multiplies by the
//! scale of a row of A and of a block of B: A has one for every 128 elements of a row, B one for
//! every 128 × 128 elements. One kernel does all of that.
//!
//! # Thread mapping
//! As in `wgmma_bf16`, with tiles of up to 192 columns: the promoted accumulators take as many
//! registers as the others. Tiles of 256 columns are for fast accumulation alone. Tiles of 64 rows
//! have multicast clusters only.
//!
//! # Preconditions
//! Those of `wgmma_bf16`. The tensor cores take 8-bit operands that are K-major; others are
//! [copied](super::pack) first. Tiles are not reduced by the reduction kernel.
//!
//! # What changed since the rung before
//! Against `wgmma_bf16`: 8-bit floats, promotion of each k-tile, scales, and C of a type that the
//! launch asks for.
//!
//! # Source
//! DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.3.2: promotion, and scales of
//! blocks. PTX ISA, "wgmma.mma_async".

use crate::gemm::GemmParams;
use crate::gemm::copy::layout;
use crate::gemm::element::Bits16;
use crate::gemm::epilogue::convert::Convert;
use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::persistent::TileSchedulerParams;
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::boxes::OperandBoxes;
use crate::gemm::wgmma::multicast::{ALONE, FROM_2_TO_8, UP_TO_8};
use crate::gemm::wgmma::promotion::{BlockScales, Promotion};
use crate::gemm::wgmma::source::{OperandSource, SS, UnitTiles};
use crate::gemm::wgmma::stage::{StageCoord, TensorMaps, WM, block_k};
use crate::gemm::wgmma::warp_specialized::{WgmmaTile, body, threads};
use cuda_std::wgmma::{Accumulator, E4m3, E4m3E5m2, E5m2, E5m2E4m3, Input, K_MAJOR};

/// Elements along k of a block with a scale of its own: those of a k-tile.
pub const BLOCK_K: u32 = block_k(E4m3::BYTES) as u32;

/// Columns of such a block of B.
pub const BLOCK_N: u32 = 128;

/// Types of an operand.
pub mod operand_type {
    /// E4M3.
    pub const E4M3: u32 = 0;
    /// E5M2.
    pub const E5M2: u32 = 1;
}

/// Scales of operands.
pub mod scaling {
    /// None.
    pub const NONE: u32 = 0;
    /// One of A and one of B.
    pub const TENSOR: u32 = 1;
    /// One of each 1 × 128 elements of A and of each 128 × 128 of B.
    pub const BLOCK: u32 = 2;
}

/// What a launch says of its operands, passed by value. Distances are in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float8Params {
    /// The type of C: a constant of [`c_type`](crate::gemm::epilogue::convert::c_type).
    pub c_type: u32,
    /// The types of A and B: constants of [`operand_type`].
    pub operands: [u32; 2],
    /// 1 where accumulators are not promoted; 0 with scales of blocks.
    pub fast_accumulation: u32,
    /// A constant of [`scaling`].
    pub scaling: u32,
    /// From the scale of a row of A to that of the next, and from one to the next along k.
    pub scales_a: [u32; 2],
    /// From the scale of a block of B to the next along k, and to that of the next columns.
    pub scales_b: [u32; 2],
    /// 0, so that the next field is aligned.
    pub reserved: u32,
    /// From the scales of a matrix of the batch to those of the next, of A and of B.
    pub scales_batch: [u64; 2],
}

/// Both operands, of 8-bit floats, lie in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Float8SS {
    pub(super) params: Float8Params,
    pub(super) scales: [*const f32; 2],
    /// m, n and k.
    pub(super) extents: [u32; 3],
}

/// An operand source of one pair of types.
type OperandsOf<E> = SS<E, K_MAJOR, K_MAJOR>;

/// The widest tiles whose accumulators leave registers for as many promoted ones.
const MAX_PROMOTED_BN: usize = 192;

impl Float8SS {
    /// The scales of the matrices, multiplied, or 1.
    ///
    /// # Safety
    /// The scales are readable, and no thread writes them.
    #[inline(always)]
    unsafe fn factor(&self) -> f32 {
        if self.params.scaling != scaling::TENSOR {
            return 1.0;
        }
        let [a, b] = self.scales;
        // SAFETY: the contract is that of this function.
        unsafe { *a * *b }
    }

    /// The accumulators of a work unit, of operands of types `E`.
    ///
    /// # Safety
    /// As for [`OperandSource::mma_tiles`].
    #[inline(always)]
    unsafe fn mma<E: Input, S: Accumulator, R: Stages, const CONSUMERS: usize>(
        &self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        let k_tiles = tiles.count;
        // SAFETY: the contract is that of this function.
        unsafe {
            if S::COLUMNS > MAX_PROMOTED_BN || self.params.fast_accumulation != 0 {
                return OperandsOf::<E>::accumulate::<S, R, CONSUMERS>(
                    pipeline, k_tiles, warpgroup,
                );
            }
            let promotion = |pipeline, scales| Promotion::<S, R, CONSUMERS> {
                pipeline,
                warpgroup,
                scales,
                promoted: S::ZERO,
            };
            let may_be_scaled = (BLOCK_N as usize).is_multiple_of(S::COLUMNS);
            let is_scaled = self.params.scaling == scaling::BLOCK && self.extents[2] > 0;
            if may_be_scaled && is_scaled {
                let scales = BlockScales::new::<S>(self, &tiles, warpgroup);
                promotion(pipeline, Some(scales)).all::<E>(k_tiles)
            } else {
                promotion(pipeline, None).all::<E>(k_tiles)
            }
        }
    }
}

impl OperandSource for Float8SS {
    const BYTES: usize = E4m3::BYTES;
    const A_K_MAJOR: bool = true;
    const B_K_MAJOR: bool = true;
    const C_TRANSPOSED: bool = false;

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        coord: StageCoord,
    ) {
        // SAFETY: the contract is that of this function. All types have as many bytes.
        unsafe { OperandsOf::<E4m3>::load::<S, R, CONSUMERS>(pipeline, maps, coord) }
    }

    /// There is one choice of types, accumulation and scales for each work unit. In the loop over
    /// k-tiles, it would keep the tensor cores waiting.
    #[inline(always)]
    unsafe fn mma_tiles<S: Accumulator, R: Stages, C, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        use operand_type::{E4M3, E5M2};
        // SAFETY: the contract is that of this function.
        unsafe {
            match self.params.operands {
                [E4M3, E4M3] => self.mma::<E4m3, S, R, CONSUMERS>(pipeline, tiles, warpgroup),
                [E4M3, E5M2] => self.mma::<E4m3E5m2, S, R, CONSUMERS>(pipeline, tiles, warpgroup),
                [E5M2, E4M3] => self.mma::<E5m2E4m3, S, R, CONSUMERS>(pipeline, tiles, warpgroup),
                _ => self.mma::<E5m2, S, R, CONSUMERS>(pipeline, tiles, warpgroup),
            }
        }
    }
}

macro_rules! float8_kernels {
    ($($list:ident: $output:ty, $bytes:literal {
        $($name:ident: $bm:literal x $bn:literal in $clusters:ident;)*
    })*) => {
        $(
            $(
                #[doc = concat!("Tiles of ", $bm, " × ", $bn, ", C of ", $bytes, " bytes.")]
                ///
                /// # Safety
                /// As for the [kernels of 16-bit elements](super::kernels). `scales_a` and
                /// `scales_b` have the scales that `float8` says, which no other thread writes.
                #[cuda_std::kernel(max_threads = threads($bm) as u32, min_blocks = 1)]
                pub unsafe fn $name(
                    maps: *const TensorMaps,
                    c: *mut $output,
                    workspace: *mut f32,
                    params: GemmParams<f32>,
                    scheduler: TileSchedulerParams,
                    boxes: [OperandBoxes; 2],
                    float8: Float8Params,
                    scales_a: *const f32,
                    scales_b: *const f32,
                ) {
                    let source = Float8SS {
                        params: float8,
                        scales: [scales_a, scales_b],
                        extents: [params.m, params.n, params.k],
                    };
                    // SAFETY: this kernel has the contract of `body`. The scales are as it says.
                    unsafe {
                        let op = |op: Convert<false, $bytes>| {
                            op.into_c(float8.c_type).times(source.factor())
                        };
                        body::<_, [f32; $bn / 2], $output, _, { $bm / WM }>(
                            maps, (c, workspace), params, (scheduler, boxes), (source, op),
                        )
                    }
                }
            )*

            #[doc = concat!("The kernels whose C has elements of ", $bytes, " bytes.")]
            pub const $list: &[TileConfig] = &[$(
                TileConfig::new::<WgmmaTile<Float8SS, [f32; $bn / 2], { $bm / WM }>>(
                    stringify!($name),
                    [layout::K_MAJOR; 2],
                )
                .in_clusters($clusters),
            )*];
        )*
    };
}

// The tiles, BM × BN, each with shapes of multicast clusters: those for fast accumulation
// alone, those for scales of matrices or none, and those for all.
float8_kernels! {
    OF_FP8_FAST: f32, 4 {
        wgmma_fp8_nt: 128 x 256 in UP_TO_8;
    }
    OF_FP8_WIDE: f32, 4 {
        wgmma_fp8_nt_192: 128 x 192 in UP_TO_8;
    }
    OF_FP8: f32, 4 {
        wgmma_fp8_nt_128: 128 x 128 in UP_TO_8;
        wgmma_fp8_nt_64: 128 x 64 in ALONE;
        wgmma_fp8_nt_64x128: 64 x 128 in FROM_2_TO_8;
        wgmma_fp8_nt_64x64: 64 x 64 in FROM_2_TO_8;
    }
    OF_FP8_FAST_TO_16_BITS: Bits16, 2 {
        wgmma_fp8_nt_to_16bit: 128 x 256 in UP_TO_8;
    }
    OF_FP8_WIDE_TO_16_BITS: Bits16, 2 {
        wgmma_fp8_nt_192_to_16bit: 128 x 192 in UP_TO_8;
    }
    OF_FP8_TO_16_BITS: Bits16, 2 {
        wgmma_fp8_nt_128_to_16bit: 128 x 128 in UP_TO_8;
        wgmma_fp8_nt_64_to_16bit: 128 x 64 in ALONE;
        wgmma_fp8_nt_64x128_to_16bit: 64 x 128 in FROM_2_TO_8;
        wgmma_fp8_nt_64x64_to_16bit: 64 x 64 in FROM_2_TO_8;
    }
}

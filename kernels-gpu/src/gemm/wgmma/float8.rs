//! `wgmma_fp8_…`: GEMMs of 8-bit floats, E4M3 and E5M2, by warpgroups.
//!
//! # Idea
//! The tensor cores of Hopper keep about 14 bits of a sum of products of 8-bit floats. So sums are
//! promoted: after each k-tile, of 128 elements, the accumulators are added to f32 registers, which
//! round to 24 bits, and begin at zero again. Fast accumulation promotes once, at the end.
//!
//! A launch says of which types A and B are, and which scales they have. With one scale for each of
//! the matrices, α is multiplied by both. With scales of blocks, each promotion multiplies by the
//! scale of a row of A and of a block of B: A has one for every 128 elements of a row, B one for
//! every 128 × 128 elements. Accumulators are added as a fused multiply-add, also where the factor
//! is 1, so that one kernel does all of that.
//!
//! # Thread mapping
//! As in `wgmma_bf16`, with tiles of 128 rows and of 128 or 64 columns: the promoted sums take as
//! many registers as the accumulators.
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
use crate::gemm::scheduler::persistent::{TileCoord, TileSchedulerParams};
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::source::{OperandSource, SS, UnitTiles};
use crate::gemm::wgmma::stage::{StageCoord, TensorMaps, WM, block_k};
use crate::gemm::wgmma::warp_specialized::{WgmmaTile, body, threads};
use cuda_std::float::GpuFloat;
use cuda_std::prelude::*;
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
    /// k-tiles after which accumulators are promoted; 1 with scales of blocks.
    pub promotion_interval: u32,
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
    params: Float8Params,
    scales: [*const f32; 2],
    /// Rows of A, and elements along k.
    m: u32,
    k: u32,
}

/// An operand source of one pair of types.
type Operands<E> = SS<E, K_MAJOR, K_MAJOR>;

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

    /// The factors of this thread's accumulators of both rows of a vec2, which lie 8 rows apart.
    ///
    /// # Safety
    /// The scales of blocks are readable, and no thread writes them.
    #[inline(always)]
    unsafe fn factors(&self, coord: TileCoord, row: u32, k_tile: u32) -> [f32; 2] {
        if self.params.scaling != scaling::BLOCK || k_tile * BLOCK_K >= self.k {
            return [1.0; 2];
        }
        let Float8Params {
            scales_a: [a_row, a_k],
            scales_b: [b_k, b_column],
            scales_batch,
            ..
        } = self.params;
        let [of_a, of_b] = scales_batch.map(|stride| coord.matrix as usize * stride as usize);
        let column = coord.column / BLOCK_N;
        let b = of_b + k_tile as usize * b_k as usize + column as usize * b_column as usize;
        // SAFETY: rows, columns and k-tile are inside of the matrices: a tile begins inside of C,
        // and rows behind its end are computed with the scales of the last one.
        unsafe {
            let b = *self.scales[1].wrapping_add(b);
            [row, row + 8].map(|row| {
                let row = row.min(self.m.saturating_sub(1)) as usize;
                let a = of_a + row * a_row as usize + k_tile as usize * a_k as usize;
                *self.scales[0].wrapping_add(a) * b
            })
        }
    }

    /// The accumulators of the next `k_tiles` k-tiles.
    ///
    /// # Safety
    /// As for [`SS::accumulate`].
    #[inline(always)]
    unsafe fn accumulate<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        &self,
        pipeline: &mut Pipeline<R>,
        k_tiles: u32,
        warpgroup: usize,
    ) -> S {
        use operand_type::{E4M3, E5M2};
        // SAFETY: the contract is that of this function.
        unsafe {
            match self.params.operands {
                [E4M3, E4M3] => {
                    Operands::<E4m3>::accumulate::<S, R, CONSUMERS>(pipeline, k_tiles, warpgroup)
                }
                [E4M3, E5M2] => Operands::<E4m3E5m2>::accumulate::<S, R, CONSUMERS>(
                    pipeline, k_tiles, warpgroup,
                ),
                [E5M2, E4M3] => Operands::<E5m2E4m3>::accumulate::<S, R, CONSUMERS>(
                    pipeline, k_tiles, warpgroup,
                ),
                _ => Operands::<E5m2>::accumulate::<S, R, CONSUMERS>(pipeline, k_tiles, warpgroup),
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
        unsafe { Operands::<E4m3>::load::<S, R, CONSUMERS>(pipeline, maps, coord) }
    }

    #[inline(always)]
    unsafe fn mma_tiles<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        const { assert!((BLOCK_N as usize).is_multiple_of(S::COLUMNS)) };
        let (t, coord) = (thread::thread_idx_x(), tiles.coord());
        let row = coord.row + warpgroup as u32 * WM as u32 + t / 32 % 4 * 16 + warp::lane_id() / 4;
        let mut promoted = S::ZERO;
        let (mut k_tile, end) = (tiles.first, tiles.first + tiles.count);
        while k_tile < end {
            let k_tiles = (end - k_tile).min(self.params.promotion_interval);
            // SAFETY: the contract is that of this function. The intervals are at least 1 k-tile,
            // and add up to those that the producer loads. The scales are as the kernel asks.
            let (factors, accumulators): (_, S) = unsafe {
                (
                    self.factors(coord, row, k_tile),
                    self.accumulate::<S, R, CONSUMERS>(pipeline, k_tiles, warpgroup),
                )
            };
            for register in 0..S::COLUMNS / 2 {
                let factor = factors[register / 2 % 2];
                let (accumulator, sum) = (accumulators.get(register), promoted.get(register));
                promoted.set(register, GpuFloat::mul_add(accumulator, factor, sum));
            }
            k_tile += k_tiles;
        }
        promoted
    }
}

macro_rules! float8_kernels {
    ($($list:ident: $output:ty, $bytes:literal {
        $($name:ident: $bm:literal x $bn:literal;)*
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
                    float8: Float8Params,
                    scales_a: *const f32,
                    scales_b: *const f32,
                ) {
                    let source = Float8SS {
                        params: float8,
                        scales: [scales_a, scales_b],
                        m: params.m,
                        k: params.k,
                    };
                    // SAFETY: this kernel has the contract of `body`. The scales are as it says.
                    unsafe {
                        let op = |op: Convert<false, $bytes>| {
                            op.into_c(float8.c_type).times(source.factor())
                        };
                        body::<_, [f32; $bn / 2], $output, _, { $bm / WM }>(
                            maps, (c, workspace), params, scheduler, (source, op),
                        )
                    }
                }
            )*

            #[doc = concat!("The kernels whose C has elements of ", $bytes, " bytes.")]
            pub const $list: &[&[TileConfig]] = &[&[$(
                TileConfig::new::<WgmmaTile<Float8SS, [f32; $bn / 2], { $bm / WM }>>(
                    stringify!($name),
                    [layout::K_MAJOR; 2],
                ),
            )*]];
        )*
    };
}

float8_kernels! {
    OF_FP8: f32, 4 {
        wgmma_fp8_nt_128: 128 x 128;
        wgmma_fp8_nt_64: 128 x 64;
    }
    OF_FP8_TO_16_BITS: Bits16, 2 {
        wgmma_fp8_nt_128_to_16bit: 128 x 128;
        wgmma_fp8_nt_64_to_16bit: 128 x 64;
    }
}

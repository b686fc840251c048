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
use crate::gemm::pipeline::tma::{ConsumerStage, Pipeline, Stages};
use crate::gemm::scheduler::persistent::TileSchedulerParams;
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::source::{OperandSource, SS, UnitTiles};
use crate::gemm::wgmma::stage::{Operands, StageCoord, TensorMaps, WM, block_k};
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
    params: Float8Params,
    scales: [*const f32; 2],
    extents: [u32; 3],
}

/// An operand source of one pair of types.
type OperandsOf<E> = SS<E, K_MAJOR, K_MAJOR>;

/// The widest tiles whose accumulators leave registers for as many promoted ones.
const MAX_PROMOTED_BN: usize = 192;

/// The widest tiles that leave registers for two sets of accumulators and the promoted ones.
const MAX_IN_TURN_BN: usize = 128;

/// Sets of accumulators, beside the promoted ones, of tiles of `bn` columns.
const fn sets(bn: usize) -> usize {
    if bn <= MAX_IN_TURN_BN { 2 } else { 1 }
}

/// The most groups of columns of a block tile with a scale of B each.
const MAX_GROUPS: usize = 3;

/// Columns of a group, in tiles of `bn` columns: a block of B begins at none but the first of them.
const fn group_columns(bn: usize) -> usize {
    let block = BLOCK_N as usize;
    if block.is_multiple_of(bn) {
        bn
    } else {
        block / 2
    }
}

/// The scales of a k-tile for the accumulators of a thread.
#[derive(Clone, Copy)]
struct KTileScales {
    /// Of both rows of a vec2 of accumulators.
    rows: [f32; 2],
    /// Of the groups of columns.
    columns: [f32; MAX_GROUPS],
}

impl KTileScales {
    /// Of a k-tile without.
    const ONE: Self = KTileScales {
        rows: [1.0; 2],
        columns: [1.0; MAX_GROUPS],
    };
}

/// The scales of blocks of a work unit's k-tiles, for the accumulators of a thread. They are loaded
/// before the MMAs of their k-tiles begin: the L2 cache answers later than a k-tile takes.
struct BlockScales {
    /// Those of the k-tiles that are loaded: of one, or of an even and of an odd one.
    loaded: [KTileScales; 2],
    /// Those of the next k-tile, of both rows of a vec2, which lie 8 rows apart.
    rows: [*const f32; 2],
    /// Those of the groups of columns.
    columns: [*const f32; MAX_GROUPS],
    /// Distances along k, of A's and of B's.
    strides: [usize; 2],
    /// k-tiles that are not loaded.
    left: u32,
}

impl BlockScales {
    /// Those of a block tile of accumulators `S`, with the first k-tiles loaded: as many as there are
    /// [`sets`].
    ///
    /// # Safety
    /// The scales are those of the matrices, readable, and no thread writes them. k is not 0.
    #[inline(always)]
    unsafe fn new<S: Accumulator>(source: &Float8SS, tiles: &UnitTiles, warpgroup: usize) -> Self {
        let (t, coord) = (thread::thread_idx_x(), tiles.coord());
        let row = coord.row + warpgroup as u32 * WM as u32 + t / 32 % 4 * 16 + warp::lane_id() / 4;
        let Float8Params {
            scales_a: [a_row, a_k],
            scales_b: [b_k, b_column],
            scales_batch: [batch_a, batch_b],
            ..
        } = source.params;
        let [m, n, _] = source.extents;
        let [matrix, first] = [coord.matrix, tiles.first].map(|index| index as usize);
        let of_a = matrix * batch_a as usize + first * a_k as usize;
        let of_b = matrix * batch_b as usize + first * b_k as usize;
        // Rows and columns behind the end of C have the scales of the last ones.
        let of_row = |row: u32| {
            let row = row.min(m.saturating_sub(1)) as usize;
            source.scales[0].wrapping_add(of_a + row * a_row as usize)
        };
        let of_group = |group: usize| {
            let column = coord.column + (group * group_columns(S::COLUMNS)) as u32;
            let block = (column.min(n.saturating_sub(1)) / BLOCK_N) as usize;
            source.scales[1].wrapping_add(of_b + block * b_column as usize)
        };
        let mut scales = BlockScales {
            loaded: [KTileScales::ONE; 2],
            rows: [of_row(row), of_row(row + 8)],
            columns: core::array::from_fn(of_group),
            strides: [a_k, b_k].map(|stride| stride as usize),
            left: tiles.count,
        };
        // SAFETY: the contract is that of this function.
        unsafe {
            scales.load::<S, 0>();
            if sets(S::COLUMNS) > 1 {
                scales.load::<S, 1>();
            }
        }
        scales
    }

    /// Loads those of the next k-tile, if there is one, as set `SET`.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline(always)]
    unsafe fn load<S: Accumulator, const SET: usize>(&mut self) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let [a_k, b_k] = self.strides;
        let scales = &mut self.loaded[SET];
        // SAFETY: the contract says that the scales are readable, and the k-tile is one of the work
        // unit.
        unsafe {
            for i in 0..2 {
                scales.rows[i] = *self.rows[i];
                self.rows[i] = self.rows[i].wrapping_add(a_k);
            }
            for group in 0..S::COLUMNS / group_columns(S::COLUMNS) {
                scales.columns[group] = *self.columns[group];
                self.columns[group] = self.columns[group].wrapping_add(b_k);
            }
        }
    }
}

/// The MMAs of a k-tile, in flight.
struct InFlight<S, R: Stages> {
    accumulators: S,
    /// To be released when they are complete.
    stage: ConsumerStage<R>,
}

/// A consumer warpgroup that computes the promoted accumulators of a work unit.
struct Promotion<'a, S, R: Stages, const CONSUMERS: usize> {
    pipeline: &'a mut Pipeline<R>,
    warpgroup: usize,
    scales: Option<BlockScales>,
    promoted: S,
}

impl<S: Accumulator, R: Stages, const CONSUMERS: usize> Promotion<'_, S, R, CONSUMERS> {
    /// Starts the MMAs of the next k-tile when its stage is full.
    ///
    /// # Safety
    /// As for [`OperandSource::mma_tiles`], of whose k-tiles this is one.
    #[inline(always)]
    unsafe fn start<E: Input>(&mut self) -> InFlight<S, R> {
        // SAFETY: the contract is that of this function. The stage is full, and is released when
        // the MMAs have been waited for.
        unsafe {
            self.pipeline.consumer_wait();
            let stage = self.pipeline.stage();
            let operands = Operands::<K_MAJOR, K_MAJOR>::new(stage, CONSUMERS, self.warpgroup);
            let accumulators = operands.mma::<E, S>();
            let stage = self.pipeline.current();
            self.pipeline.advance();
            InFlight {
                accumulators,
                stage,
            }
        }
    }

    /// Waits until at most the MMAs of `PENDING` newer k-tiles are in flight, and adds the
    /// accumulators of this one to the promoted ones. Its scales are those of set `SET`, into which
    /// those of a later k-tile are loaded.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The scales are as
    /// [`BlockScales::new`] asks.
    #[inline(always)]
    unsafe fn promote<const PENDING: u32, const SET: usize>(&mut self, k_tile: InFlight<S, R>) {
        let InFlight {
            mut accumulators,
            stage,
        } = k_tile;
        let mut factors = [[1.0; 2]; MAX_GROUPS];
        // SAFETY: the contract is that of this function. The MMAs that read the stage are complete.
        unsafe {
            accumulators.wait_but::<PENDING>();
            stage.release();
            if let Some(scales) = &mut self.scales {
                let KTileScales { rows, columns } = scales.loaded[SET];
                factors = columns.map(|column| rows.map(|row| row * column));
                scales.load::<S, SET>();
            }
        }
        for register in 0..S::COLUMNS / 2 {
            let (accumulator, sum) = (accumulators.get(register), self.promoted.get(register));
            let factor = factors[register / (group_columns(S::COLUMNS) / 2)][register / 2 % 2];
            let sum = match self.scales {
                None => sum + accumulator,
                Some(_) => GpuFloat::mul_add(accumulator, factor, sum),
            };
            self.promoted.set(register, sum);
        }
    }

    /// All k-tiles, in two sets of accumulators: one is in flight while the other is promoted.
    ///
    /// # Safety
    /// As for [`OperandSource::mma_tiles`] and [`promote`](Self::promote). `k_tiles` is at least 1.
    #[inline(always)]
    unsafe fn in_turn<E: Input>(&mut self, k_tiles: u32) {
        let mut left = k_tiles;
        // SAFETY: the contract is that of this function.
        unsafe {
            let mut even = self.start::<E>();
            loop {
                left -= 1;
                if left == 0 {
                    return self.promote::<0, 0>(even);
                }
                let odd = self.start::<E>();
                self.promote::<1, 0>(even);
                left -= 1;
                if left == 0 {
                    return self.promote::<0, 1>(odd);
                }
                even = self.start::<E>();
                self.promote::<1, 1>(odd);
            }
        }
    }

    /// All k-tiles, in one set of accumulators: while it is promoted, the MMAs of the other
    /// warpgroup are in flight.
    ///
    /// # Safety
    /// As for [`OperandSource::mma_tiles`] and [`promote`](Self::promote).
    #[inline(always)]
    unsafe fn one_by_one<E: Input>(&mut self, k_tiles: u32) {
        for _ in 0..k_tiles {
            // SAFETY: the contract is that of this function.
            unsafe {
                let k_tile = self.start::<E>();
                self.promote::<0, 0>(k_tile);
            }
        }
    }

    /// All k-tiles.
    ///
    /// # Safety
    /// As for [`in_turn`](Self::in_turn).
    #[inline(always)]
    unsafe fn all<E: Input>(mut self, k_tiles: u32) -> S {
        // SAFETY: the contract is that of this function.
        unsafe {
            match sets(S::COLUMNS) {
                1 => self.one_by_one::<E>(k_tiles),
                _ => self.in_turn::<E>(k_tiles),
            }
        }
        self.promoted
    }
}

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
            if self.params.scaling == scaling::BLOCK && self.extents[2] > 0 {
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
    unsafe fn mma_tiles<S: Accumulator, R: Stages, const CONSUMERS: usize>(
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
        $($name:ident: $bm:literal x $bn:literal in $cluster:literal;)*
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
                        extents: [params.m, params.n, params.k],
                    };
                    // SAFETY: this kernel has the contract of `body`. The scales are as it says.
                    unsafe {
                        let op = |op: Convert<false, $bytes>| {
                            op.into_c(float8.c_type).times(source.factor())
                        };
                        body::<_, [f32; $bn / 2], $output, _, { $bm / WM }, $cluster>(
                            maps, (c, workspace), params, scheduler, (source, op),
                        )
                    }
                }
            )*

            #[doc = concat!("The kernels whose C has elements of ", $bytes, " bytes.")]
            pub const $list: &[TileConfig] = &[$(
                TileConfig::new::<WgmmaTile<Float8SS, [f32; $bn / 2], { $bm / WM }, $cluster>>(
                    stringify!($name),
                    [layout::K_MAJOR; 2],
                ),
            )*];
        )*
    };
}

float8_kernels! {
    OF_FP8_FAST: f32, 4 {
        wgmma_fp8_nt_pair: 128 x 256 in 2;
    }
    OF_FP8: f32, 4 {
        wgmma_fp8_nt_192: 128 x 192 in 1;
        wgmma_fp8_nt_pair_192: 128 x 192 in 2;
        wgmma_fp8_nt_128: 128 x 128 in 1;
        wgmma_fp8_nt_pair_128: 128 x 128 in 2;
        wgmma_fp8_nt_64: 128 x 64 in 1;
        wgmma_fp8_nt_pair_64x128: 64 x 128 in 2;
        wgmma_fp8_nt_pair_64x64: 64 x 64 in 2;
    }
    OF_FP8_FAST_TO_16_BITS: Bits16, 2 {
        wgmma_fp8_nt_pair_to_16bit: 128 x 256 in 2;
    }
    OF_FP8_TO_16_BITS: Bits16, 2 {
        wgmma_fp8_nt_192_to_16bit: 128 x 192 in 1;
        wgmma_fp8_nt_pair_192_to_16bit: 128 x 192 in 2;
        wgmma_fp8_nt_128_to_16bit: 128 x 128 in 1;
        wgmma_fp8_nt_pair_128_to_16bit: 128 x 128 in 2;
        wgmma_fp8_nt_64_to_16bit: 128 x 64 in 1;
        wgmma_fp8_nt_pair_64x128_to_16bit: 64 x 128 in 2;
        wgmma_fp8_nt_pair_64x64_to_16bit: 64 x 64 in 2;
    }
}

//! Operand sources of the consumers' MMAs: both operands in shared memory (SS), or A in registers
//! (RS).

use crate::gemm::pipeline::tma::{Pipeline, Stages};
use crate::gemm::scheduler::fast_divmod::FastDivmod;
use crate::gemm::scheduler::persistent::{TileCoord, TileGrid};
use crate::gemm::wgmma::multicast;
use crate::gemm::wgmma::stage::{self, Operands, StageCoord, TensorMaps};
use core::marker::PhantomData;
use cuda_std::wgmma::{self, Accumulator, Input, K_MAJOR};

/// The k-tiles that a consumer multiplies for a work unit.
#[derive(Clone, Copy, Debug)]
pub struct UnitTiles {
    /// All tiles, and the number of the unit's.
    pub tiles: TileGrid<FastDivmod>,
    /// See `tiles`.
    pub tile: u32,
    /// The first k-tile.
    pub first: u32,
    /// Their number, at least 1.
    pub count: u32,
}

impl UnitTiles {
    /// Where the unit's tile begins.
    #[inline(always)]
    pub fn coord(&self) -> TileCoord {
        self.tiles.coord(self.tile)
    }
}

/// An operand source. Its types have the element type and the layouts of A and B as parameters, and
/// its values what a launch says of them.
pub trait OperandSource: Copy {
    /// Bytes of an element of A and B.
    const BYTES: usize;

    /// Whether A is K-major.
    const A_K_MAJOR: bool;

    /// Whether B is K-major.
    const B_K_MAJOR: bool;

    /// Whether the accumulators are those of Cᵀ, with rows permuted as
    /// [`rs::row`](crate::gemm::wgmma::rs::row) says.
    const C_TRANSPOSED: bool;

    /// Whether the accumulators have the bits of i32.
    const INTEGER: bool = false;

    /// Stages of a k-tile.
    const K_TILE_STAGES: u32 = 1;

    /// Whether a launch may choose tiles of fewer columns than the kernel's.
    const CHOOSES_WIDTH: bool = false;

    /// Whether blocks of a cluster may load operands [for each other](multicast), as a launch says.
    const MULTICAST: bool = true;

    /// The matrices of the tensor maps of A and B that a stage of a k-tile is of, where the batch
    /// has these.
    #[inline(always)]
    fn matrices(matrices: [u32; 2], _stage: u32) -> [u32; 2] {
        matrices
    }

    /// Whether the kernel has nothing to compute, since another one does.
    ///
    /// # Safety
    /// `workspace` is that of the kernel, and the launches before have ended.
    #[inline(always)]
    unsafe fn is_left_out(_workspace: *const f32, _k: u32) -> bool {
        false
    }

    /// Starts the TMA loads of the pipeline's stage: see [`multicast::load`].
    ///
    /// # Safety
    /// As for [`multicast::load`].
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        coord: StageCoord,
    );

    /// The accumulators of the pipeline's next k-tiles, those of `tiles`, for one of `CONSUMERS`
    /// consumer warpgroups: its rows of A times B. `C` is an element of C.
    ///
    /// # Safety
    /// All 128 threads of the warpgroup execute it together. The pipeline is initialised, and its
    /// producer loads these k-tiles.
    unsafe fn mma_tiles<S: Accumulator, R: Stages, C, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S;
}

/// Promotion interval of tiles of `bn` columns, in k-tiles: 4096 elements of 16 bits along k, or
/// 2048 where there are few promoted accumulators to add to. Two-level accumulation rounds less
/// than one long sum (see [`promotion`](crate::gemm::simt::promotion)).
const fn promotion_interval(bn: usize) -> u32 {
    if bn > 64 { 64 } else { 32 }
}

/// The widest tiles whose accumulators leave registers for as many promoted ones. Wider tiles
/// accumulate all of k in one level.
const MAX_PROMOTED_BN: usize = 192;

/// Both operands lie in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct SS<E, const A: i32, const B: i32>(pub PhantomData<E>);

impl<E: Input + Copy, const A: i32, const B: i32> OperandSource for SS<E, A, B> {
    const BYTES: usize = E::BYTES;
    const A_K_MAJOR: bool = A == K_MAJOR;
    const B_K_MAJOR: bool = B == K_MAJOR;
    const C_TRANSPOSED: bool = false;
    const CHOOSES_WIDTH: bool = E::BYTES == 2;

    #[inline(always)]
    unsafe fn load<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &Pipeline<R>,
        maps: *const TensorMaps,
        coord: StageCoord,
    ) {
        // An MN-major operand has TMA boxes of this many columns, and no narrower ones.
        const { assert!(B == K_MAJOR || S::COLUMNS.is_multiple_of(stage::block_k(E::BYTES))) };
        // SAFETY: the contract is that of `multicast::load`.
        unsafe { multicast::load::<E, R, CONSUMERS, A, B>(pipeline, maps, coord) }
    }

    #[inline(always)]
    unsafe fn mma_tiles<S: Accumulator, R: Stages, C, const CONSUMERS: usize>(
        self,
        pipeline: &mut Pipeline<R>,
        tiles: UnitTiles,
        warpgroup: usize,
    ) -> S {
        if !Self::CHOOSES_WIDTH {
            // SAFETY: the contract is that of this function.
            return unsafe { Self::mma::<S, R, CONSUMERS>(pipeline, tiles.count, warpgroup) };
        }
        let [_, columns] = tiles.tiles.tile();
        let mut accumulators = S::ZERO;
        // SAFETY: the contract is that of this function.
        unsafe {
            Self::mma_columns::<S, S, R, C, CONSUMERS>(
                &mut accumulators,
                pipeline,
                [tiles.count, columns],
                warpgroup,
            )
        };
        accumulators
    }
}

/// Columns of the narrowest tiles that a launch may choose of a kernel of `consumers` consumer
/// warpgroups and tiles of `bn` columns, with operands of `W` and elements `C` of C: down to those
/// of the kernel with the next narrower ones. Those of 64 rows end at 96, since the kernel of 64
/// columns has more stages.
///
/// Tiles of 256 columns, whose accumulators take the most registers, are narrowed once, and with
/// 16-bit elements of C not at all: `ptxas` would serialize the MMAs.
pub const fn narrowest<W: OperandSource, C>(consumers: usize, bn: usize) -> usize {
    match (consumers, bn) {
        _ if !W::CHOOSES_WIDTH => bn,
        (_, 256) if size_of::<C>() == 4 => 240,
        (2, 192) => 144,
        (1, 192) => 96,
        (_, 128) => 64,
        _ => bn,
    }
}

impl<E: Input + Copy, const A: i32, const B: i32> SS<E, A, B> {
    /// [`mma`](Self::mma) for tiles of `columns` columns, by MMAs of as many. The others of the
    /// accumulators are left as they are. An MMA has its width in its opcode, so each width has a
    /// main loop.
    ///
    /// # Safety
    /// As for [`mma`](Self::mma). `columns` is one of the widths down from those of `S` to the
    /// [`narrowest`].
    #[inline(always)]
    unsafe fn mma_columns<
        All: Accumulator,
        S: Accumulator,
        R: Stages,
        C,
        const CONSUMERS: usize,
    >(
        accumulators: &mut All,
        pipeline: &mut Pipeline<R>,
        [k_tiles, columns]: [u32; 2],
        warpgroup: usize,
    ) {
        let is_narrowest = const { S::COLUMNS == narrowest::<Self, C>(CONSUMERS, All::COLUMNS) };
        // SAFETY: the contract is that of this function.
        unsafe {
            if is_narrowest || columns == S::COLUMNS as u32 {
                S::keep_apart();
                let of_columns: S = Self::mma::<S, R, CONSUMERS>(pipeline, k_tiles, warpgroup);
                for register in 0..S::COLUMNS / 2 {
                    accumulators.set(register, of_columns.get(register));
                }
            } else {
                Self::mma_columns::<All, S::Fewer, R, C, CONSUMERS>(
                    accumulators,
                    pipeline,
                    [k_tiles, columns],
                    warpgroup,
                );
            }
        }
    }
}

impl<E: Input, const A: i32, const B: i32> SS<E, A, B> {
    /// The accumulators of the pipeline's next `k_tiles` k-tiles, in two levels of accumulation
    /// where registers allow it.
    ///
    /// # Safety
    /// As for [`mma_tiles`](OperandSource::mma_tiles). `k_tiles` is at least 1.
    #[inline(always)]
    pub unsafe fn mma<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        k_tiles: u32,
        warpgroup: usize,
    ) -> S {
        if S::COLUMNS > MAX_PROMOTED_BN {
            // SAFETY: `accumulate` has the contract of this function.
            return unsafe { Self::accumulate::<S, R, CONSUMERS>(pipeline, k_tiles, warpgroup) };
        }
        let mut promoted = S::ZERO;
        let mut left = k_tiles;
        while left > 0 {
            let k_tiles = left.min(promotion_interval(S::COLUMNS));
            // SAFETY: `accumulate` has the contract of this function. The intervals are at least 1
            // k-tile, and add up to those that the producer loads.
            let accumulators: S =
                unsafe { Self::accumulate::<S, R, CONSUMERS>(pipeline, k_tiles, warpgroup) };
            for register in 0..S::COLUMNS / 2 {
                promoted.set(
                    register,
                    promoted.get(register) + accumulators.get(register),
                );
            }
            left -= k_tiles;
        }
        promoted
    }

    /// The accumulators of the next `k_tiles` k-tiles, in one level of accumulation.
    ///
    /// # Safety
    /// As for [`mma`](Self::mma).
    #[inline(always)]
    pub(super) unsafe fn accumulate<S: Accumulator, R: Stages, const CONSUMERS: usize>(
        pipeline: &mut Pipeline<R>,
        k_tiles: u32,
        warpgroup: usize,
    ) -> S {
        let operands =
            |pipeline: &Pipeline<R>| Operands::<A, B>::new(pipeline.stage(), CONSUMERS, warpgroup);
        // SAFETY: a stage is read when it is full. It is released when its MMAs are complete, one
        // k-tile later, so that there are always MMAs in flight. No other code touches the
        // accumulators before `wait_all`.
        unsafe {
            pipeline.consumer_wait();
            let mut accumulators: S = operands(pipeline).mma::<E, S>();
            let mut reading = pipeline.current();
            pipeline.advance();
            for _ in 1..k_tiles {
                pipeline.consumer_wait();
                operands(pipeline).mma_add::<E, S>(&mut accumulators);
                wgmma::wait_group::<1>();
                reading.release();
                reading = pipeline.current();
                pipeline.advance();
            }
            accumulators.wait_all();
            reading.release();
            accumulators
        }
    }
}

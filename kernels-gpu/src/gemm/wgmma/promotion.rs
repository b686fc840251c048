//! Promotion of the accumulators of [8-bit floats](super::float8): after each k-tile they are added
//! to f32 registers, with the scales of blocks as factors.

use crate::gemm::pipeline::tma::{ConsumerStage, Pipeline, Stages};
use crate::gemm::wgmma::float8::{BLOCK_N, Float8Params, Float8SS};
use crate::gemm::wgmma::source::UnitTiles;
use crate::gemm::wgmma::stage::{Operands, WM};
use cuda_std::float::GpuFloat;
use cuda_std::prelude::*;
use cuda_std::wgmma::{Accumulator, Input, K_MAJOR};

/// The widest tiles that leave registers for two sets of accumulators and the promoted ones.
const MAX_IN_TURN_BN: usize = 128;

/// Sets of accumulators, beside the promoted ones, of tiles of `bn` columns.
const fn sets(bn: usize) -> usize {
    if bn <= MAX_IN_TURN_BN { 2 } else { 1 }
}

/// The scales of a k-tile for the accumulators of a thread.
#[derive(Clone, Copy)]
struct KTileScales {
    /// Of both rows of a vec2 of accumulators.
    rows: [f32; 2],
    /// Of the columns of the block tile.
    columns: f32,
}

impl KTileScales {
    /// Of a k-tile without.
    const ONE: Self = KTileScales {
        rows: [1.0; 2],
        columns: 1.0,
    };
}

/// The scales of blocks of a work unit's k-tiles, for the accumulators of a thread. They are loaded
/// before the MMAs of their k-tiles begin: the L2 cache answers later than a k-tile takes.
pub(super) struct BlockScales {
    /// Those of the k-tiles that are loaded: of one, or of an even and of an odd one.
    loaded: [KTileScales; 2],
    /// Those of the first k-tile, of both rows of a vec2, which lie 8 rows apart.
    rows: [*const f32; 2],
    /// That of the columns.
    columns: *const f32,
    /// Distances along k, of A's and of B's.
    strides: [u32; 2],
    /// The next k-tile to load, and the last one.
    k_tile: u32,
    last: u32,
}

impl BlockScales {
    /// Those of a block tile of accumulators `S`, whose columns lie in one block of B, with the
    /// first k-tiles loaded: as many as there are [`sets`].
    ///
    /// # Safety
    /// The scales are those of the matrices, readable, and no thread writes them. k is not 0.
    #[inline(always)]
    pub unsafe fn new<S: Accumulator>(
        source: &Float8SS,
        tiles: &UnitTiles,
        warpgroup: usize,
    ) -> Self {
        let (t, coord) = (thread::thread_idx_x(), tiles.coord());
        let row = coord.row + warpgroup as u32 * WM as u32 + t / 32 % 4 * 16 + warp::lane_id() / 4;
        let Float8Params {
            scales_a: [a_row, a_k],
            scales_b: [b_k, b_column],
            scales_batch: [batch_a, batch_b],
            ..
        } = source.params;
        let [m, ..] = source.extents;
        let [matrix, first] = [coord.matrix, tiles.first].map(|index| index as usize);
        let of_a = matrix * batch_a as usize + first * a_k as usize;
        let of_b = matrix * batch_b as usize + first * b_k as usize;
        // Rows behind the end of C have the scales of the last one.
        let of_row = |row: u32| {
            let row = row.min(m.saturating_sub(1)) as usize;
            source.scales[0].wrapping_add(of_a + row * a_row as usize)
        };
        let block = (coord.column / BLOCK_N) as usize;
        let mut scales = BlockScales {
            loaded: [KTileScales::ONE; 2],
            rows: [of_row(row), of_row(row + 8)],
            columns: source.scales[1].wrapping_add(of_b + block * b_column as usize),
            strides: [a_k, b_k],
            k_tile: 0,
            last: tiles.count - 1,
        };
        // SAFETY: the contract is that of this function.
        unsafe {
            scales.load::<0>();
            if sets(S::COLUMNS) > 1 {
                scales.load::<1>();
            }
        }
        scales
    }

    /// Loads those of the next k-tile as set `SET`; behind the last one its own again. Without a
    /// branch: behind one, the loads would be waited for.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline(always)]
    unsafe fn load<const SET: usize>(&mut self) {
        let offsets = self
            .strides
            .map(|stride| self.k_tile as usize * stride as usize);
        let scales = &mut self.loaded[SET];
        // SAFETY: the contract says that the scales are readable, and the k-tile is one of the work
        // unit.
        unsafe {
            for i in 0..2 {
                scales.rows[i] = *self.rows[i].wrapping_add(offsets[0]);
            }
            scales.columns = *self.columns.wrapping_add(offsets[1]);
        }
        self.k_tile = self.last.min(self.k_tile + 1);
    }
}

/// The MMAs of a k-tile, in flight.
struct InFlight<S, R: Stages> {
    accumulators: S,
    /// To be released when they are complete.
    stage: ConsumerStage<R>,
}

/// A consumer warpgroup that computes the promoted accumulators of a work unit.
pub(super) struct Promotion<'a, S, R: Stages, const CONSUMERS: usize> {
    /// The pipeline, at the first k-tile.
    pub pipeline: &'a mut Pipeline<R>,
    /// The index of the warpgroup.
    pub warpgroup: usize,
    /// The scales of blocks, where there are any.
    pub scales: Option<BlockScales>,
    /// The promoted accumulators.
    pub promoted: S,
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
        let mut factors = [1.0; 2];
        // SAFETY: the contract is that of this function. The MMAs that read the stage are complete.
        unsafe {
            accumulators.wait_but::<PENDING>();
            stage.release();
            if let Some(scales) = &mut self.scales {
                let KTileScales { rows, columns } = scales.loaded[SET];
                factors = rows.map(|row| row * columns);
                scales.load::<SET>();
            }
        }
        for register in 0..S::COLUMNS / 2 {
            let (accumulator, sum) = (accumulators.get(register), self.promoted.get(register));
            let factor = factors[register / 2 % 2];
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
    pub unsafe fn all<E: Input>(mut self, k_tiles: u32) -> S {
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

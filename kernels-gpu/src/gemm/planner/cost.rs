//! The cost model: the time that a GEMM should take, in clocks of an SM.
//!
//! Grid and persistent kernels have the same model. A launch takes [`LaunchCost::start`]. The
//! busiest SM computes k-tiles at [`TileCost::k_tile`], and stores tiles in [`TileCost::epilogue`].
//! The reduction of partial sums takes what a [`ReductionCost`] says. Terms that only one kind has
//! are of the hardware that only it uses: several blocks on an SM, or TMA, clusters and overlapping
//! launches.
//!
//! The constants are fitted to times on an H200: those of GEMVs to
//! `results/h200/tuning/ways-*.txt`, those of f32, f64 and `wgmma` to times of GEMMs drawn at
//! random, whose operands are not in the cache (278 of f32, `f32-fit.txt`; 75 of f64,
//! `f64-fit.txt`; 358 of bf16, as CUDA graphs, `wgmma-graphs.txt`). Where the costs of f32 are
//! fitted to four fifths of its GEMMs, the planner's choice takes 1.012 times as long as the
//! fastest for the others; in f64, for 40 others, 1.011 times; of `wgmma`, for those that are not
//! fitted, 1.025 times: geometric means. What GEMV T loses when it reads again is fitted to its
//! times since blocks that read the same start side by side. Other GPUs have other rates, but much
//! the same ratios.

mod gemv;
mod persistent;

use crate::gemm::scheduler::cluster_shape::ClusterShape;
use crate::gemm::tile_config::TileConfig;
pub(super) use gemv::GemvCost;
pub(super) use persistent::*;
pub use persistent::{LINE_BYTES, row_alignment};

/// What launches of one kind take.
#[derive(Clone, Copy)]
pub(super) struct LaunchCost {
    /// Clocks of a launch, and of filling the first stages.
    pub start: f64,
    /// The fix-up by the last block of a stream-K tile.
    pub last_block: ReductionCost,
    /// How many times as long a byte of partial sums takes a last block that has an SM alone.
    pub alone: f64,
    /// The share of a wave by which a partial wave behind a full one takes longer than if its
    /// blocks were spread evenly: blocks of an SM end together, and it gets as many others.
    pub uneven: f64,
    /// The reduction kernel.
    pub kernel: ReductionCost,
    /// Bytes of A, B and C that come from device memory, or go there, in a clock; infinite where
    /// they are not counted.
    pub memory_bytes: f64,
    /// The same where operands are unaligned.
    pub unaligned_bytes: f64,
}

/// What it takes to add up partial sums.
#[derive(Clone, Copy)]
pub(super) struct ReductionCost {
    /// Clocks before the first partial sum: of a launch, or until the last block knows that it is
    /// the last.
    start: f64,
    /// Clocks of each time that threads wait for the partial sums that they have in flight.
    round: f64,
    /// Clocks of a byte of partial sums.
    byte: f64,
}

/// What a tile of one size takes.
#[derive(Clone, Copy)]
pub(super) struct TileCost {
    /// BM, BN and the blocks of a cluster.
    tile: [u32; 3],
    /// Clocks of a k-tile where its SM does nothing else.
    pub k_tile: f64,
    /// Clocks before the first k-tile and after the last that no other block hides.
    pub epilogue: f64,
    /// What the epilogue takes longer where rows of C do not begin at multiples of a vector.
    pub unaligned_c: f64,
    /// Blocks that keep an SM busy.
    saturating: f64,
}

/// SIMT and `mma.sync` kernels of elements of up to 16 bits, and GEMVs. The last block counts the
/// bytes of all splits, the reduction kernel those and the bytes of C.
pub(super) const GRID: LaunchCost = LaunchCost {
    start: 3480.0,
    last_block: ReductionCost::new(6350.0, 0.0, 1.0 / 17.2),
    alone: 1.0,
    uneven: 0.0,
    kernel: ReductionCost::new(3130.0, 370.0, 1.0 / 2250.0),
    memory_bytes: f64::INFINITY,
    unaligned_bytes: f64::INFINITY,
};

/// The same of `mma.sync`.
pub(super) const GRID_MMA: LaunchCost = LaunchCost {
    last_block: ReductionCost::new(4500.0, 0.0, 1.0 / 22.0),
    memory_bytes: 2000.0,
    unaligned_bytes: 1810.0,
    ..GRID
};

/// The same where launches overlap.
pub(super) const GRID_MMA_90: LaunchCost = LaunchCost {
    start: 3310.0,
    ..GRID_MMA
};

/// The same of f32.
pub(super) const GRID_F32: LaunchCost = LaunchCost {
    start: 3080.0,
    last_block: ReductionCost::new(3740.0, 0.0, 1.0 / 30.6),
    alone: 1.63,
    uneven: 0.16,
    kernel: ReductionCost::new(4890.0, 244.0, 1.0 / 2300.0),
    memory_bytes: 1011.0,
    unaligned_bytes: 1011.0,
};

/// The same of f64.
pub(super) const GRID_F64: LaunchCost = LaunchCost {
    start: 3730.0,
    last_block: ReductionCost::new(4880.0, 0.0, 1.0 / 17.9),
    alone: 1.0,
    uneven: 0.0,
    kernel: ReductionCost::new(5440.0, 387.0, 1.0 / 2485.0),
    memory_bytes: 1295.0,
    unaligned_bytes: 1295.0,
};

/// Warp schedulers of an SM.
const SCHEDULERS: u64 = 4;

/// FMAs of f32 that an SM issues in a clock. As many of f64 run on its tensor cores.
const FMAS_PER_CLOCK: f64 = 128.0;

/// Elements along k of a k-tile of grids, as the model counts them.
pub(super) const GRID_BK: u32 = 16;

/// What the main loop of small tiles of f32 takes longer for an operand that is K-major, and for an
/// MN-major one without vectors, where accumulators are promoted. The promoted accumulators take
/// the L1 cache from the blocks of the SM, and each copy of a single element holds a line of it.
pub(super) const ELEMENTS_F32: [f64; 2] = [0.058, 0.019];

/// The share of what a K-major operand takes longer where none are promoted.
pub(super) const NOT_PROMOTED: f64 = 0.5;

/// Bytes of a sector. A k-tile has as many of a row of a K-major operand of f32.
pub(super) const SECTOR_BYTES: u32 = 32;

/// What the main loop of f32 takes longer in addition where several small blocks promote on an SM:
/// times the square of the number of K-major operands whose rows do not begin at sectors. A k-tile
/// has two sectors of each row then. The second is loaded again for the next k-tile, since the
/// promoted accumulators leave the L1 cache too small to hold the lines of all blocks.
pub(super) const LINES_OF_SMALL_TILES: f64 = 0.045;

/// [`ELEMENTS_F32`] of f64, which promotes none.
pub(super) const ELEMENTS_F64: [f64; 2] = [0.115, 0.011];

/// What the main loop of f32 takes longer for a K-major operand in tiles that have an SM alone.
pub(super) const K_MAJOR_ALONE_F32: f64 = 0.036;

/// Grid tiles of f32. The last entry is for sizes that are not listed.
pub(super) const F32: &[TileCost] = &[
    TileCost::at_rate([128, 256], 0.949, 6900.0, 1.0).unaligned_c(23_800.0),
    TileCost::at_rate([128, 128], 0.88, 6340.0, 1.08).unaligned_c(3600.0),
    TileCost::at_rate([128, 32], 0.761, 5250.0, 2.28).unaligned_c(1300.0),
    TileCost::at_rate([64, 64], 0.795, 3950.0, 2.6).unaligned_c(1580.0),
    TileCost::at_rate([32, 64], 0.609, 2670.0, 3.03).unaligned_c(800.0),
];

/// Grid tiles of f64, in clocks of as many FMAs as f32 has. All of them store C through shared
/// memory, whatever its rows.
pub(super) const F64: &[TileCost] = &[
    TileCost::at_rate([128, 128], 0.959, 12_660.0, 1.0),
    TileCost::at_rate([128, 32], 0.664, 7610.0, 1.0),
    TileCost::at_rate([32, 128], 0.634, 5850.0, 1.05),
    TileCost::at_rate([64, 64], 0.815, 6610.0, 1.14),
    TileCost::at_rate([32, 64], 0.551, 5520.0, 1.36),
];

/// Grid tiles of 16-bit elements by `mma.sync`, in the same clocks. The rates of 128 × 128 and 256
/// × 128 are those of bf16 at 4096 on an H200. The other figures were not measured: they are those
/// of f32's tiles, as far as they depend on tiles, and estimates otherwise.
pub(super) const MMA_16: &[TileCost] = &[
    TileCost::at_rate([256, 128], 7.75, 9000.0, 1.0),
    TileCost::at_rate([128, 128], 7.35, 7730.0, 1.28),
    TileCost::at_rate([64, 64], 5.5, 4700.0, 3.0),
];

/// The same for TF32, of which tensor cores compute half as many MMAs.
pub(super) const MMA_TF32: &[TileCost] = &[
    TileCost::at_rate([128, 128], 3.68, 7730.0, 1.28),
    TileCost::at_rate([64, 64], 2.75, 4700.0, 3.0),
];

/// The same for f32 in terms of bf16, of which six products are computed.
pub(super) const MMA_F32_SPLIT: &[TileCost] = &[
    TileCost::at_rate([128, 128], 1.22, 7730.0, 1.0),
    TileCost::at_rate([64, 64], 0.92, 4700.0, 3.0),
];

/// The same for 8-bit integers, of which tensor cores compute twice as many MMAs. Not measured.
pub(super) const MMA_I8: &[TileCost] = &[
    TileCost::at_rate([256, 128], 15.5, 9000.0, 1.0),
    TileCost::at_rate([128, 128], 14.7, 7730.0, 1.28),
    TileCost::at_rate([64, 64], 11.0, 4700.0, 3.0),
];

/// Clocks of the launch that copies an operand, and bytes that it moves in a clock. Not measured.
pub(super) const COPY_LAUNCH: f64 = 4000.0;
/// See [`COPY_LAUNCH`].
pub(super) const COPY_BYTES_PER_CLOCK: f64 = 800.0;

/// Tiles of 16-bit elements whose operands are unaligned. Fitted to times of 51 products on an
/// H200, with those of TF32, and corrected by those of 54 others, which include tiles of 64 × 128,
/// and by those of 77 more for C whose rows are of vectors. Those of 8 bits and of f32 in terms
/// were not measured.
pub(super) const UNALIGNED_16: &[TileCost] = &unaligned(1.7);

/// The same for TF32.
pub(super) const UNALIGNED_TF32: &[TileCost] = &unaligned(1.15);

/// The same for f32 in terms of bf16.
pub(super) const UNALIGNED_F32_SPLIT: &[TileCost] = &unaligned(0.5);

/// The same for 8-bit integers.
pub(super) const UNALIGNED_8: &[TileCost] = &unaligned(1.7);

/// Unaligned tiles, of which that of 64 × 64 reaches a rate.
const fn unaligned(rate: f64) -> [TileCost; 5] {
    [
        TileCost::at_rate([64, 128], 1.32 * rate, 6700.0, 2.0).unaligned_c(3300.0),
        TileCost::at_rate([128, 64], 1.32 * rate, 6700.0, 2.0).unaligned_c(3300.0),
        TileCost::at_rate([32, 128], 0.93 * rate, 5290.0, 2.4).unaligned_c(2600.0),
        TileCost::at_rate([128, 32], 0.92 * rate, 5290.0, 2.4).unaligned_c(2600.0),
        TileCost::at_rate([64, 64], rate, 5290.0, 2.4).unaligned_c(2600.0),
    ]
}

impl ReductionCost {
    const fn new(start: f64, round: f64, byte: f64) -> Self {
        ReductionCost { start, round, byte }
    }

    /// Clocks of `bytes` bytes of partial sums.
    pub fn clocks(&self, rounds: u32, bytes: f64) -> f64 {
        self.start + f64::from(rounds) * self.round + bytes * self.byte
    }
}

impl TileCost {
    /// A tile of a grid that reaches the share `rate` of an SM's FMAs.
    const fn at_rate(tile: [u32; 2], rate: f64, epilogue: f64, saturating: f64) -> Self {
        let [bm, bn] = tile;
        TileCost {
            tile: [bm, bn, 1],
            k_tile: (bm * bn * GRID_BK) as f64 / (FMAS_PER_CLOCK * rate),
            epilogue,
            unaligned_c: 0.0,
            saturating,
        }
    }

    /// The same tile, whose epilogue takes `clocks` longer where rows of C are not of vectors.
    const fn unaligned_c(self, clocks: f64) -> Self {
        TileCost {
            unaligned_c: clocks,
            ..self
        }
    }

    /// A tile of a persistent grid, by what a column of it takes.
    const fn of_columns(tile: [u32; 3], k_tile: f64, epilogue: f64) -> Self {
        let columns = tile[1] as f64;
        TileCost {
            tile,
            k_tile: columns * k_tile,
            epilogue: columns * epilogue,
            unaligned_c: 0.0,
            saturating: 1.0,
        }
    }

    /// That of tiles of `columns` columns, of a tile configuration in multicast clusters: of as
    /// many blocks, or of the next fewer with costs. A column takes what lies between those of the
    /// next wider and the next narrower tiles with costs.
    pub fn of(
        costs: &[TileCost],
        config: &TileConfig,
        columns: u32,
        cluster: ClusterShape,
    ) -> Self {
        let [bm, ..] = config.tile;
        let [mut wider, mut narrower] = [None::<&Self>; 2];
        for cost in costs {
            let [rows, width, blocks] = cost.tile;
            if rows != bm || blocks > cluster.blocks() {
                continue;
            }
            // Of one width, that of the most blocks.
            let is_nearer = |than: Option<&Self>| {
                than.is_none_or(|than| {
                    let distances = [width, than.tile[1]].map(|width| width.abs_diff(columns));
                    (distances[0], than.tile[2]) < (distances[1], blocks)
                })
            };
            if width >= columns && is_nearer(wider) {
                wider = Some(cost);
            }
            if width <= columns && is_nearer(narrower) {
                narrower = Some(cost);
            }
        }
        let wider = wider.expect("each kind of tiles has costs");
        wider.between(narrower.unwrap_or(wider), columns)
    }

    /// The cost of tiles of `columns` columns, from those of this width and of a narrower one.
    fn between(&self, narrower: &Self, columns: u32) -> Self {
        let [[bm, most, blocks], [_, least, _]] = [self.tile, narrower.tile];
        if most == least {
            return *self;
        }
        let share = f64::from(columns - least) / f64::from(most - least);
        let of_columns = |wider: f64, narrower: f64| {
            let [wider, narrower] = [wider / f64::from(most), narrower / f64::from(least)];
            f64::from(columns) * (share * wider + (1.0 - share) * narrower)
        };
        TileCost {
            tile: [bm, columns, blocks],
            k_tile: of_columns(self.k_tile, narrower.k_tile),
            epilogue: of_columns(self.epilogue, narrower.epilogue),
            ..*self
        }
    }

    /// The time of `blocks` blocks on one SM, over that of a block that keeps the whole SM busy.
    /// The warp scheduler with the most warps ends last.
    pub fn slowdown(&self, config: &TileConfig, blocks: u64) -> f64 {
        if blocks == 0 {
            return 0.0;
        }
        let warps = u64::from(config.threads / 32);
        let most = (blocks * warps).div_ceil(SCHEDULERS);
        self.saturating
            .max((most * SCHEDULERS) as f64 / warps as f64)
    }

    /// Clocks of the main loops, `work` each, of `tiles` tiles on one SM, and of their epilogues of
    /// `epilogue` each. For `uneven` see [`LaunchCost::uneven`].
    pub fn tiles(
        &self,
        config: &TileConfig,
        tiles: u64,
        [work, epilogue]: [f64; 2],
        uneven: f64,
    ) -> [f64; 2] {
        let per_sm = u64::from(config.blocks_per_sm);
        let (full, rest) = (tiles / per_sm, tiles % per_sm);
        let wave = self.slowdown(config, per_sm);
        let mut partial = self.slowdown(config, rest);
        if full > 0 && rest > 0 {
            partial += uneven / full as f64 * (wave - partial);
        }
        let slowdown = full as f64 * wave + partial;
        [slowdown * work, tiles.div_ceil(per_sm) as f64 * epilogue]
    }
}

/// The share of k of a tile's first split, where SMs without one compute `tails` second splits
/// each, one after the other, so that all end at the same time. All of k takes `work` clocks, and a
/// second split takes `fixed` beside its share.
pub(super) fn head_share(work: f64, fixed: f64, tails: f64) -> f64 {
    (1.0 + fixed / work) * tails / (tails + 1.0)
}

/// Clocks of two activities at the same time: those of the longer, and an eighth more where both
/// take as long, as each waits for the other at times.
pub(super) fn overlapped(one: f64, other: f64) -> f64 {
    let (longer, shorter) = (one.max(other), one.min(other));
    let ratio = shorter / longer.max(1.0);
    longer + shorter * ratio * ratio * ratio / 8.0
}

//! The time that a GEMM should take with a tile configuration, by a model of an SM.
//!
//! The model adds up: the tiles that the busiest SM computes, each at the rate of FMAs that the
//! configuration was seen to reach; a fixed time for its prologue and epilogue; and the traffic of
//! partial sums. All times are in clocks.
//!
//! The constants are fitted to times on an H200 (`results/h200/tuning/ways-*.txt`: 2,364 launches
//! of 85 GEMMs), where the planner's choice takes 1.01 times as long as the fastest, on the
//! geometric mean. The rates of the two large tiles of f32 are those times 1.048 and 1.034, which
//! their loop over two k gained later. What GEMV T loses when it reads again is fitted to its times
//! since blocks that read the same start side by side. Other GPUs have other rates, but much the
//! same ratios.

use crate::gemm::reduction::split_k;
use crate::gemm::tile_config::TileConfig;

/// Warp schedulers of an SM.
const SCHEDULERS: u64 = 4;

/// FMAs of f32 that an SM issues in a clock. As many of f64 run on its tensor cores.
const FMAS_PER_CLOCK: f64 = 128.0;

/// Clocks of a launch.
pub(super) const START: f64 = 3480.0;

/// Clocks of the reduction kernel: its launch, each time that its threads wait for partial sums,
/// and bytes that it moves in a clock.
const REDUCE_START: f64 = 3130.0;
const REDUCE_LATENCY: f64 = 370.0;
const REDUCED_BYTES_PER_CLOCK: f64 = 2250.0;

/// Clocks of a stream-K work unit beside its FMAs and what every tile takes.
pub(super) const FIX_UP: f64 = 6350.0;

/// Bytes of partial sums that the last block of a stream-K tile adds up in a clock.
const FIX_UP_BYTES_PER_CLOCK: f64 = 17.2;

/// What tiles lose where accumulators are promoted and both operands are K-major. The promoted
/// accumulators take the L1 cache from the blocks of the SM, and each copy of a single element
/// holds a line of it.
pub(super) const PROMOTION_K_MAJOR: f64 = 0.13;

/// Bytes that GEMVs load in a clock, and the blocks on each SM that this takes.
const BYTES_PER_CLOCK: f64 = 2200.0;
const SATURATING_BLOCKS: f64 = 1.5;

/// Clocks of a GEMV's prologue and epilogue in each wave, and of the fix-up by its last blocks.
const GEMV_WAVE: f64 = 1500.0;
const GEMV_FIX_UP: f64 = 5000.0;

/// The share of the long operand's bytes that costs as much as if it came from memory when they are
/// read again, of GEMV N and GEMV T.
const AGAIN: [f64; 2] = [0.5, 0.3];

/// What GEMV T loses where the short operand has several rows, which it loads for each column.
const SEVERAL_ROWS_T: f64 = 0.3;

/// What GEMV T loses with split-K: its warps have less to do then.
const SPLIT_K_T: f64 = 0.2;

/// What GEMVs lose where rows of the long operand are not of whole vectors.
const NO_VECTORS: f64 = 0.5;

/// What the model knows of a tile size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// BM and BN.
    pub tile: [u32; 2],
    /// The share of an SM's FMAs that it reaches.
    rate: f64,
    /// Clocks before the first FMA and after the last.
    pub fixed: f64,
    /// Blocks that keep an SM busy.
    saturating: f64,
}

/// The tile sizes of f32.
pub(super) const F32_MODELS: &[Model] = &[
    Model::new([128, 256], 0.914, 8400.0, 1.0),
    Model::new([128, 128], 0.844, 7730.0, 1.28),
    Model::new([128, 32], 0.724, 5400.0, 4.05),
    Model::new([64, 64], 0.77, 4700.0, 4.06),
    Model::new([32, 64], 0.577, 3415.0, 2.53),
];

/// Those of f64, in clocks of as many FMAs as f32 has.
pub(super) const F64_MODELS: &[Model] = &[
    Model::new([128, 128], 0.987, 13_600.0, 1.0),
    Model::new([64, 64], 0.70, 9_700.0, 2.6),
];

impl Model {
    const fn new(tile: [u32; 2], rate: f64, fixed: f64, saturating: f64) -> Self {
        Model {
            tile,
            rate,
            fixed,
            saturating,
        }
    }

    /// The time of `blocks` blocks on one SM, over that of a block that keeps the whole SM busy.
    /// The warp scheduler with the most warps ends last.
    pub fn slowdown(&self, tile: &TileConfig, blocks: u64) -> f64 {
        if blocks == 0 {
            return 0.0;
        }
        let warps = u64::from(tile.threads / 32);
        let most = (blocks * warps).div_ceil(SCHEDULERS);
        self.saturating
            .max((most * SCHEDULERS) as f64 / warps as f64)
    }

    /// Clocks of a tile's FMAs over `k`, where its SM does nothing else.
    pub fn work(&self, tile: &TileConfig, k: u32) -> f64 {
        let [bm, bn, _] = tile.tile;
        f64::from(bm) * f64::from(bn) * f64::from(k) / (FMAS_PER_CLOCK * self.rate)
    }
}

/// Clocks in which the last block of a stream-K tile adds up `bytes` bytes of partial sums.
pub(super) fn fix_up(bytes: f64) -> f64 {
    bytes / FIX_UP_BYTES_PER_CLOCK
}

/// Clocks of writing the partial sums of `splits` splits, `bytes` bytes each, and of the reduction
/// kernel with `groups` groups of threads in a block.
pub(super) fn reduction(splits: u32, bytes: f64, groups: u32) -> f64 {
    if splits == 1 {
        return 0.0;
    }
    let waits = splits.div_ceil(groups * split_k::IN_FLIGHT as u32);
    REDUCE_START
        + f64::from(waits) * REDUCE_LATENCY
        + bytes * f64::from(splits + 1) / REDUCED_BYTES_PER_CLOCK
}

/// A GEMM with a short side, as the GEMV kernels compute it.
pub(super) struct GemvCost {
    /// Bytes of the long operand.
    pub bytes: f64,
    /// Whether the long operand is K-major: GEMV T.
    pub k_major: bool,
    /// Whether its rows are of whole vectors.
    pub vectors: bool,
    /// Whether the short side is longer than 1.
    pub several: bool,
    /// Times that the long operand is read.
    pub passes: u32,
    /// Split-K factor.
    pub splits: u32,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Blocks that fit on an SM.
    pub blocks_per_sm: u64,
    /// SMs.
    pub multiprocessors: u32,
}

impl GemvCost {
    /// Clocks from the launch to the end.
    pub fn clocks(&self) -> f64 {
        let mut again = 1.0;
        let mut add = |share: f64, applies: bool| again += if applies { share } else { 0.0 };
        add(
            AGAIN[usize::from(self.k_major)] * f64::from(self.passes - 1),
            true,
        );
        add(SEVERAL_ROWS_T, self.k_major && self.several);
        add(SPLIT_K_T, self.k_major && self.splits > 1);
        add(NO_VECTORS, !self.vectors);
        // The last wave leaves SMs idle; too few blocks have too few loads in flight.
        let multiprocessors = f64::from(self.multiprocessors);
        let wave = self.blocks_per_sm * u64::from(self.multiprocessors);
        let waves = self.blocks.div_ceil(wave);
        let longer = if self.blocks < wave {
            (SATURATING_BLOCKS * multiprocessors / self.blocks as f64).max(1.0)
        } else {
            (waves * wave) as f64 / self.blocks as f64
        };
        let fix_up = if self.splits > 1 { GEMV_FIX_UP } else { 0.0 };
        START + waves as f64 * GEMV_WAVE + self.bytes * again * longer / BYTES_PER_CLOCK + fix_up
    }
}

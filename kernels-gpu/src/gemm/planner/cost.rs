//! The time that an instance should take, by a model of a multiprocessor.
//!
//! So many tiles come to the busiest multiprocessor, each takes as long as its multiply-adds at the rate that the instance was
//! seen to reach, beginning and end take a fixed time, and partial products are written and read again. All times are in
//! clocks.
//!
//! The constants are fitted to times on an H200 (`results/h200/tuning/layouts-*.txt`: 2,364 layouts to compute 85 products), where
//! the choice takes 1.01 times as long as the fastest way, on the geometric mean. The rates of the two large tiles of f32 are
//! those times 1.048 and 1.034, which their loop over two rows along k gained later; what `dots` loses when it reads again is
//! fitted to its times since blocks that read the same start side by side. Other GPUs have other rates, but
//! much the same ratios.

use crate::gemm::reduction::split_k;
use crate::gemm::tile_config::TileConfig;

/// Schedulers of a multiprocessor.
const SCHEDULERS: u64 = 4;

/// Multiply-adds of f32 that a multiprocessor starts in a clock. So does f64 on the tensor cores.
const FMAS_PER_CLOCK: f64 = 128.0;

/// Clocks of a launch.
pub(super) const START: f64 = 3480.0;

/// Clocks of the reducing kernel's launch and of each time that its threads wait for parts, and bytes that it moves in a clock.
const REDUCE_START: f64 = 3130.0;
const REDUCE_LATENCY: f64 = 370.0;
const REDUCED_BYTES_PER_CLOCK: f64 = 2250.0;

/// Clocks that a block of a cut tile takes beside its multiply-adds and what all tiles take.
pub(super) const MEETING: f64 = 6350.0;

/// Bytes of accumulators that the last block of a cut tile adds up in a clock.
const TAKEN_UP_BYTES_PER_CLOCK: f64 = 17.2;

/// What tiles lose where k has slices and both operands run along k: the slices' promoted take the L1 cache, in which each copy of a
/// single element holds a line, from the blocks that unit a multiprocessor.
pub(super) const SLICES_ALONG_K: f64 = 0.13;

/// Bytes that the kernels for a short side load in a clock, and the blocks on each multiprocessor that this takes.
const BYTES_PER_CLOCK: f64 = 2200.0;
const SATURATING_BLOCKS: f64 = 1.5;

/// Clocks of their beginning and end in each round of blocks, and in which the last ones add up what the others left.
const ROUND_OF_FEW: f64 = 1500.0;
const MEETING_OF_FEW: f64 = 5000.0;

/// What of the long operand costs as much as if it came from memory when it is read again, by `rows` and by `dots`.
const AGAIN: [f64; 2] = [0.5, 0.3];

/// What `dots` loses where the short operand has several rows, which it loads again for each column.
const SHORT_ALONG_K: f64 = 0.3;

/// What `dots` loses where k has parts: its warps then end sooner.
const SPLIT_ALONG_K: f64 = 0.2;

/// What they all lose where rows of the long operand are no vectors.
const NO_VECTORS: f64 = 0.5;

/// What the model knows of a tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// Its rows and columns.
    pub tile: [u32; 2],
    /// The unit of the multiprocessor's multiply-adds that it reaches.
    rate: f64,
    /// Clocks before the first and after the last of them.
    pub fixed: f64,
    /// Blocks without which a multiprocessor is not busy.
    saturating: f64,
}

/// Those of f32.
pub(super) const F32_MODELS: &[Model] = &[
    Model::new([128, 256], 0.914, 8400.0, 1.0),
    Model::new([128, 128], 0.844, 7730.0, 1.28),
    Model::new([128, 32], 0.724, 5400.0, 4.05),
    Model::new([64, 64], 0.77, 4700.0, 4.06),
    Model::new([32, 64], 0.577, 3415.0, 2.53),
];

/// Those of f64, in clocks of f32's multiply-adds.
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

    /// How many times as long as one would take that keeps a whole multiprocessor busy, so many blocks take slowdown. Their warps
    /// are dealt out to schedulers, and it is the fullest one that ends last.
    pub fn slowdown(&self, tile: &TileConfig, blocks: u64) -> f64 {
        if blocks == 0 {
            return 0.0;
        }
        let warps = u64::from(tile.threads / 32);
        let fullest = (blocks * warps).div_ceil(SCHEDULERS);
        self.saturating
            .max((fullest * SCHEDULERS) as f64 / warps as f64)
    }

    /// Clocks of a tile's multiply-adds over this extent along k, where its multiprocessor does nothing else.
    pub fn work(&self, tile: &TileConfig, k: u32) -> f64 {
        let [rows, columns, _] = tile.tile;
        f64::from(rows) * f64::from(columns) * f64::from(k) / (FMAS_PER_CLOCK * self.rate)
    }
}

/// Clocks in which the last block of a cut tile adds up so many bytes of accumulators.
pub(super) fn taking_up(bytes: f64) -> f64 {
    bytes / TAKEN_UP_BYTES_PER_CLOCK
}

/// Clocks of writing `splits` parts of so many bytes each, and of the kernel that reads them by `lanes` threads for a vector.
pub(super) fn reducing(splits: u32, bytes: f64, lanes: u32) -> f64 {
    if splits == 1 {
        return 0.0;
    }
    let waits = splits.div_ceil(lanes * split_k::AHEAD as u32);
    REDUCE_START
        + f64::from(waits) * REDUCE_LATENCY
        + bytes * f64::from(splits + 1) / REDUCED_BYTES_PER_CLOCK
}

/// A product with a short side.
pub(super) struct GemvCost {
    /// Bytes of the long operand.
    pub bytes: f64,
    /// Whether its rows run along k: `dots`.
    pub along_k: bool,
    /// Whether they are of whole vectors.
    pub vectors: bool,
    /// Whether the short side is longer than 1.
    pub several: bool,
    /// Times that the long operand is read.
    pub passes: u32,
    /// Parts of k.
    pub splits: u32,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Blocks that a multiprocessor has room for.
    pub resident: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
}

impl GemvCost {
    /// Clocks from the launch to the end.
    pub fn clocks(&self) -> f64 {
        let mut again = 1.0;
        let mut costs = |unit: f64, really: bool| again += if really { unit } else { 0.0 };
        costs(
            AGAIN[usize::from(self.along_k)] * f64::from(self.passes - 1),
            true,
        );
        costs(SHORT_ALONG_K, self.along_k && self.several);
        costs(SPLIT_ALONG_K, self.along_k && self.splits > 1);
        costs(NO_VECTORS, !self.vectors);
        // Blocks of the last round leave room that nobody uses; too few blocks have too few loads on their way.
        let multiprocessors = f64::from(self.multiprocessors);
        let room = self.resident * u64::from(self.multiprocessors);
        let rounds = self.blocks.div_ceil(room);
        let longer = if self.blocks < room {
            (SATURATING_BLOCKS * multiprocessors / self.blocks as f64).max(1.0)
        } else {
            (rounds * room) as f64 / self.blocks as f64
        };
        let meeting = if self.splits > 1 { MEETING_OF_FEW } else { 0.0 };
        START
            + rounds as f64 * ROUND_OF_FEW
            + self.bytes * again * longer / BYTES_PER_CLOCK
            + meeting
    }
}

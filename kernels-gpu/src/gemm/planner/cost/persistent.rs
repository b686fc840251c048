//! What persistent kernels take, and the copies of their operands.

use super::{LaunchCost, ReductionCost, TileCost};

/// `wgmma` kernels. The last block counts the bytes of the split that it writes and of those that
/// it reads, the reduction kernel the bytes of all splits.
pub const PERSISTENT: LaunchCost = LaunchCost {
    start: 4320.0,
    last_block: ReductionCost::new(1350.0, 0.0, 18.1 / COLUMN_BYTES),
    alone: 1.0,
    uneven: 0.0,
    kernel: ReductionCost::new(3530.0, 1282.0, 0.00083),
    // Their own terms count what they load: see `BYTES_PER_CLOCK`.
    memory_bytes: f64::INFINITY,
    unaligned_bytes: f64::INFINITY,
};

/// The reduction by blocks of a cluster, which read each other's shared memory. Each split is a
/// round; the bytes are those that a block stores for the others.
pub const CLUSTER: ReductionCost = ReductionCost::new(881.0, 306.0, 40.1 / COLUMN_BYTES);

/// The reduction kernel of `wgmma` where its blocks fit beside those of the GEMM: they have started
/// when it ends.
pub const KERNEL_BESIDE: ReductionCost = ReductionCost {
    start: 980.0,
    ..PERSISTENT.kernel
};

/// Bytes of a column of 128 partial sums.
const COLUMN_BYTES: f64 = 512.0;

/// Clocks of the barrier of a multicast cluster.
pub const CLUSTER_BARRIER: f64 = 250.0;

/// Clocks of a persistent grid's tail split besides its k-tiles: its block's prologue and its
/// partial sums.
pub const TAIL: f64 = 10_600.0;

/// Bytes of A and B that come from device memory in a clock.
pub const BYTES_PER_CLOCK: f64 = 2350.0;

/// Persistent tiles of BM × BN in multicast clusters of these numbers of blocks or more, beside
/// what the L2 cache takes. Fitted, with the other costs of persistent kernels, to 22,600 times on
/// an H200 of 358 products of bf16, drawn at random, whose launches are CUDA graphs. Fitted to 153
/// of them, the planner's choice takes 1.025 times as long for the 205 others as the fastest, and
/// the same the other way round: geometric means (1.037 and 1.045 with costs that were fitted to
/// launches of streams, of products above 1 GFLOP).
pub const WGMMA: &[TileCost] = &[
    TileCost::of_columns([128, 256, 1], 4.10, 21.4),
    TileCost::of_columns([128, 192, 1], 4.26, 22.3),
    TileCost::of_columns([128, 128, 1], 4.19, 25.4),
    TileCost::of_columns([128, 64, 1], 5.08, 29.5),
    TileCost::of_columns([64, 192, 1], 1.75, 16.2),
    TileCost::of_columns([64, 64, 1], 2.86, 15.3),
    TileCost::of_columns([128, 64, 2], 5.66, 29.5),
    TileCost::of_columns([64, 192, 2], 2.29, 16.2),
    TileCost::of_columns([64, 64, 2], 3.74, 15.3),
];

/// What the L2 cache takes for elements of 2 and 4 bytes. Fitted with them.
pub const L2: L2Cost = L2Cost {
    lines_per_clock: 124.2,
    missed: 2.28,
    of_sm: 0.498,
};

/// Persistent tiles of elements of 8 bits: fitted to 1,000 times of 71 products of E4M3 on an H100.
pub const WGMMA_8: &[TileCost] = &[
    TileCost::of_columns([128, 256, 1], 4.8, 31.0),
    TileCost::of_columns([128, 256, 2], 5.1, 24.0),
    TileCost::of_columns([128, 192, 1], 5.0, 29.0),
    TileCost::of_columns([128, 192, 2], 5.2, 23.2),
    TileCost::of_columns([128, 128, 1], 5.2, 28.8),
    TileCost::of_columns([128, 128, 2], 5.9, 23.4),
    TileCost::of_columns([128, 64, 1], 9.3, 29.2),
    TileCost::of_columns([64, 128, 2], 3.6, 19.0),
    TileCost::of_columns([64, 64, 2], 6.2, 22.4),
];

/// The same for elements of 8 bits, fitted with them. What misses was not told apart.
pub const L2_8: L2Cost = L2Cost {
    lines_per_clock: 54.0,
    missed: 0.0,
    of_sm: 0.0,
};

/// What the lines of 128 bytes that SMs load take the L2 cache.
#[derive(Clone, Copy)]
pub struct L2Cost {
    /// Those that it delivers in a clock to all SMs.
    pub lines_per_clock: f64,
    /// As how many more a line counts that comes from device memory.
    pub missed: f64,
    /// Clocks of a line of an SM that no other SM hides.
    pub of_sm: f64,
}

impl L2Cost {
    /// No cost.
    pub const FREE: Self = L2Cost {
        lines_per_clock: f64::INFINITY,
        missed: 0.0,
        of_sm: 0.0,
    };

    /// Clocks of a k-tile of `lines` lines of each of `blocks` blocks, `missed` of all of which
    /// come from device memory.
    pub fn clocks(&self, lines: f64, blocks: f64, missed: f64) -> f64 {
        (blocks * lines + missed * self.missed) / self.lines_per_clock + lines * self.of_sm
    }
}

/// Bytes of a line of the L2 cache.
pub const LINE_BYTES: u32 = 128;

/// Bytes at whose multiples rows begin that are `pitch` bytes apart, behind the first one:
/// [`LINE_BYTES`] at most.
pub fn row_alignment(pitch: u64) -> u32 {
    1 << (pitch | u64::from(LINE_BYTES)).trailing_zeros()
}

/// Lines that a row of 128 bytes of a k-tile counts as, where rows begin at multiples of
/// `alignment` bytes. Some rows are then of two lines, and from 16 bytes on of five sectors of 32
/// bytes.
pub fn row_lines(alignment: u32) -> f64 {
    match alignment {
        128.. => 1.0,
        64.. => 1.37,
        32.. => 1.54,
        _ => 2.3,
    }
}

/// The share of an operand's lines that a block loads where `blocks` blocks of a multicast cluster
/// load them together, and rows begin at multiples of `alignment` bytes.
pub fn share_of_lines(blocks: u32, alignment: u32) -> f64 {
    /// Of what the others load, what each loads all the same where its boxes have parts of lines.
    const OF_PARTS: f64 = 0.07;
    let alone = 1.0 / f64::from(blocks);
    match alignment < LINE_BYTES {
        true => alone + OF_PARTS * (1.0 - alone),
        false => alone,
    }
}

/// Persistent tiles of f32 in terms of bf16: six products of each k-tile. Fitted to times of 60
/// products on an H200, drawn at random, beside what their launches take; half of them alone
/// predict the others to 6 %.
pub const WGMMA_F32_SPLIT: &[TileCost] = &[
    TileCost::of_columns([128, 192, 1], 6.0 * 4.5, 30.7),
    TileCost::of_columns([128, 128, 1], 6.0 * 4.9, 30.3),
    TileCost::of_columns([128, 64, 1], 6.0 * 6.4, 37.1),
];

/// Clocks of the three launches beside that of a GEMM in terms. Fitted with it.
pub const SPLIT_LAUNCHES: f64 = 12_250.0;
/// Bytes that the first two move for an element of A or B. Fitted with it.
pub const SPLIT_BYTES: f64 = 10.4;
/// Clocks for an element of C: of its store, and of the tiles of the last launch. Fitted with it.
pub const SPLIT_ELEMENT_OF_C: f64 = 0.0021;
/// The same where TMA cannot store C.
pub const SPLIT_ELEMENT_OF_UNALIGNED_C: f64 = 0.0037;

/// Clocks of a launch that copies operands for a persistent kernel, of a second such launch, and
/// bytes that they move in a clock: fitted to times on an H200 of 243 products drawn at random,
/// beside those that the model gives their kernels.
pub const PACK_LAUNCH: f64 = 5300.0;
/// See [`PACK_LAUNCH`].
pub const SECOND_PACK_LAUNCH: f64 = 4600.0;
/// See [`PACK_LAUNCH`].
pub const PACK_BYTES_PER_CLOCK: f64 = 2020.0;

/// Clocks of an element of C that a persistent kernel stores to rows that TMA does not take. Fitted
/// to times of products drawn at random whose k is less than 400.
pub const UNALIGNED_C: f64 = 0.0007;
/// The same where C lies column by column.
pub const UNALIGNED_TRANSPOSED_C: f64 = 0.0032;

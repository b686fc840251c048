//! What persistent kernels take, and the copies of their operands.

use super::{LaunchCost, ReductionCost, TileCost};

/// `wgmma` kernels. The last block counts the bytes of the split that it writes and of those that
/// it reads, the reduction kernel the bytes of all splits.
pub const PERSISTENT: LaunchCost = LaunchCost {
    start: 3930.0,
    last_block: ReductionCost::new(2590.0, 0.0, 16.2 / COLUMN_BYTES),
    alone: 1.0,
    uneven: 0.0,
    kernel: ReductionCost::new(5440.0, 1360.0, 0.0039 / 4.0),
    // Their own terms count what they load: see `BYTES_PER_CLOCK`.
    memory_bytes: f64::INFINITY,
    unaligned_bytes: f64::INFINITY,
};

/// The reduction by blocks of a cluster, which read each other's shared memory. Each split is a
/// round; the bytes are those that a block stores for the others.
pub const CLUSTER: ReductionCost = ReductionCost::new(650.0, 650.0, 36.7 / COLUMN_BYTES);

/// The reduction kernel of `wgmma` where its blocks fit beside those of the GEMM: they have started
/// when it ends.
pub const KERNEL_BESIDE: ReductionCost = ReductionCost {
    start: 3140.0,
    ..PERSISTENT.kernel
};

/// Bytes of a column of 128 partial sums.
const COLUMN_BYTES: f64 = 512.0;

/// Clocks of the barrier of a multicast cluster.
pub const CLUSTER_BARRIER: f64 = 940.0;

/// Clocks of a persistent grid's tail split besides its k-tiles: its block's prologue and its
/// partial sums.
pub const TAIL: f64 = 10_600.0;

/// Bytes of A and B that come from device memory in a clock.
pub const BYTES_PER_CLOCK: f64 = 2190.0;

/// Clocks of a row of a TMA box that A does not have, in each k-tile. Boxes are loaded as a whole
/// where A has fewer rows than the highest tiles.
pub const ABSENT_ROW: f64 = 0.45;

/// Persistent tiles of BM × BN in multicast clusters of these numbers of blocks, beside what the L2
/// cache takes. Fitted, with the other costs of persistent kernels, to 4,760 times on an H200 of
/// 156 products of bf16 and TF32 drawn at random; clusters do not change what an epilogue takes.
/// Fitted to half of these, the planner's choice takes 1.033 times as long for the other half as
/// the fastest, of persistent and unaligned tiles: a geometric mean.
pub const WGMMA: &[TileCost] = &[
    TileCost::of_columns([128, 256, 1], 3.89, 20.0),
    TileCost::of_columns([128, 192, 1], 3.69, 22.1),
    TileCost::of_columns([128, 128, 1], 4.14, 24.9),
    TileCost::of_columns([128, 64, 1], 5.21, 26.6),
    TileCost::of_columns([64, 192, 1], 2.36, 13.4),
    TileCost::of_columns([64, 64, 1], 3.23, 16.6),
    TileCost::of_columns([128, 256, 2], 3.79, 20.0),
    TileCost::of_columns([128, 192, 2], 3.77, 22.1),
    TileCost::of_columns([128, 128, 2], 4.29, 24.9),
    TileCost::of_columns([128, 64, 2], 6.25, 26.6),
    TileCost::of_columns([64, 192, 2], 2.62, 13.4),
    TileCost::of_columns([64, 64, 2], 4.40, 16.6),
    TileCost::of_columns([128, 256, 4], 3.74, 20.0),
    TileCost::of_columns([128, 192, 4], 3.96, 22.1),
    TileCost::of_columns([128, 128, 4], 4.06, 24.9),
    TileCost::of_columns([128, 64, 4], 5.72, 26.6),
    TileCost::of_columns([64, 192, 4], 2.43, 13.4),
    TileCost::of_columns([64, 64, 4], 4.13, 16.6),
    TileCost::of_columns([128, 256, 8], 3.77, 20.0),
    TileCost::of_columns([128, 192, 8], 3.88, 22.1),
    TileCost::of_columns([128, 128, 8], 4.04, 24.9),
    TileCost::of_columns([128, 64, 8], 5.50, 26.6),
    TileCost::of_columns([64, 192, 8], 2.27, 13.4),
    TileCost::of_columns([64, 64, 8], 3.43, 16.6),
];

/// Lines of 128 bytes that the L2 cache delivers in a clock to all SMs, for elements of 2 and 4
/// bytes. Fitted with them.
pub const L2_LINES_PER_CLOCK: f64 = 63.2;

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

/// [`L2_LINES_PER_CLOCK`] of elements of 8 bits. Fitted with them.
pub const L2_LINES_PER_CLOCK_8: f64 = 54.0;

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
        64.. => 1.35,
        32.. => 1.6,
        _ => 2.36,
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

//! Source 001: ECE 408, lecture 5.

use super::reasons::{GUARDED, TILED};
use super::{after, first};
use crate::reproduce::group::{
    Count, Figure, Group, Reason, Reference, Shown, Size, Timed, Unit, Useful,
};

/// Memory bandwidth of the lecture's example GPU, in GB/s.
const BANDWIDTH: f64 = 150.0;

/// What the bandwidth carries, at 4 bytes per FLOP over the width of the tile.
const fn bound(value: f64) -> Figure {
    Figure::new(value, Unit::Gflops, "bandwidth bound")
}

const PENDING_LOADS: Figure = Figure::new(
    4096.0,
    Unit::LoadsPerMultiprocessor,
    "predicted, 2,048 threads",
);

/// Source 004's figure for tests of this kind.
const ABOUT_5_PERCENT: Figure =
    Figure::new(0.95, Unit::TimesBefore, "measured, for source 004's tests")
        .said("about 5 % slower");

/// The bound is about bytes asked for; a sector can serve more than one lane.
const TILED_BYTES: Reason = TILED.shown_in(Count::BytesPerFlop);

const BIGGER_TILE: Reason = Reason::new(
    "each element of a tile is used 32 times instead of 16: half the global traffic",
    Shown::In(Count::BytesPerFlop),
)
.weighing(
    "global traffic is no longer what limits; the two shared-memory loads per multiply-add are the \
     same",
    "half the requests leave the multiprocessor, and the latency of those is shared by four times \
     the threads",
);

/// The tables.
#[rustfmt::skip]
pub const GROUPS: &[Group] = &[Group {
    title: "what tiles do to the bandwidth bound",
    hardware: "the lecture's example GPU: 150 GB/s, over 1,000 GFLOP/s",
    problem: "no size given, f32",
    size: Size::Square { gpu: 4096, emulator: 256 },
    useful: Useful::WarpFma,
    timed: &[Timed::Gflops, Timed::BandwidthBound { there_gbs: BANDWIDTH }],
    counted: &[Count::BytesPerFlop, Count::Sectors, Count::Wavefronts, Count::Instructions],
    reference: Some(Reference {
        rung: "copy_vec4",
        size: Size::Square { gpu: 8192, emulator: 256 },
    }),
    entries: &[
        first("naive", &[
            bound(37.5),
            Figure::new(25.0, Unit::Gflops, "measured").said("about 25 GFLOP/s"),
        ]),
        after("naive", "tiled_16", &TILED_BYTES, &[bound(600.0), PENDING_LOADS]),
        after("tiled_16", "tiled_32", &BIGGER_TILE, &[bound(1200.0), PENDING_LOADS]),
        after("tiled_16", "tiled_guarded_16", &GUARDED, &[ABOUT_5_PERCENT]),
        after("tiled_32", "tiled_guarded_32", &GUARDED, &[ABOUT_5_PERCENT]),
    ],
}];

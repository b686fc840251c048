//! Source 002: interval analysis.
//!
//! Its figures are predictions of how many threads a kernel needs, not speeds. A kernel that needs
//! more threads is as fast as one that needs fewer where a launch has enough of them.

use super::{after, first};
use crate::reproduce::group::{
    COUNTS, Count, Figure, Group, Reason, Shown, Size, Timed, Unit, Useful,
};

const SATURATE: &str = "predicted: threads that use up the bandwidth";
const LATENCY: &str = "predicted: latency of an interval";
const ISSUE: &str = "predicted: threads that use up instruction issue";
const PEAK: &str = "observed: threads at which the throughput levels off";

const fn threads(value: f64) -> Figure {
    Figure::new(value, Unit::Threads, SATURATE)
}

const fn per_multiprocessor(value: f64, kind: &'static str) -> Figure {
    Figure::new(value, Unit::ThreadsPerMultiprocessor, kind)
}

const fn warps(value: f64, kind: &'static str) -> Figure {
    Figure::new(value, Unit::WarpsPerMultiprocessor, kind)
}

const fn cycles(value: f64) -> Figure {
    Figure::new(value, Unit::Cycles, LATENCY)
}

const fn nanoseconds(value: f64) -> Figure {
    Figure::new(value, Unit::Nanoseconds, LATENCY)
}

const LOAD_BY_LOAD: Reason = Reason::new(
    "each element is used before the next is loaded: N latencies in a row instead of one, so more \
     threads are needed",
    Shown::InTime,
)
.weighing(
    "a full launch has threads enough for either kernel",
    "even a full launch has too few threads for loads that wait for each other",
);

const THREAD_PER_ELEMENT: Reason = Reason::new(
    "M threads share a vector: less data and more instructions for each, so more threads are \
     needed",
    Shown::In(Count::Instructions),
)
.weighing(
    "a full launch has threads enough, and neighbours store neighbours: 4 sectors for a warp's \
     store instead of 32",
    "a row of the matrix differs from lane to lane, and the constant cache serves one address at a \
     time",
);

/// The tables.
#[rustfmt::skip]
pub const GROUPS: &[Group] = &[
    Group {
        title: "the one-interval example",
        hardware: "M2200 (88.1 GB/s, 1.04 GHz), latencies of a CC 6.1 part",
        problem: "a grid-stride loop, f32",
        size: Size::Square { gpu: 4096, emulator: 512 },
        useful: Useful::WarpOutput,
        timed: &[Timed::Gbs],
        counted: COUNTS,
        reference: None,
        entries: &[first("add_one", &[
            threads(4341.0).said("4,341 threads"),
            cycles(410.0),
            Figure::new(4416.0, Unit::Threads, "predicted from the real machine code").said("4,416 \
                threads"),
            Figure::new(417.0, Unit::Cycles, "predicted from the real machine code"),
        ])],
    },
    Group {
        title: "many small matrix-vector products",
        hardware: "GTX 1080 (CC 6.1, 320.3 GB/s)",
        problem: "M = N = 16, f32",
        size: Size::Square { gpu: 4096, emulator: 512 },
        useful: Useful::WarpOutput,
        timed: &[Timed::Gbs],
        counted: COUNTS,
        reference: None,
        entries: &[
            first("matvec_lcs", &[
                threads(971.9),
                per_multiprocessor(48.6, SATURATE),
                nanoseconds(388.4),
                per_multiprocessor(268.8, ISSUE),
                Figure::new(999.0, Unit::Threads, "the same with 1.2 instructions per FMA"),
                per_multiprocessor(261.0, "the same for issue with 1.2 instructions per FMA"),
                warps(4.0, PEAK),
                cycles(720.0).on("CC 5.1"),
                cycles(976.0).on("CC 7.5"),
                nanoseconds(946.5).on("K20c"),
                threads(1538.0).on("K20c").said("1,538 threads"),
                per_multiprocessor(118.0, SATURATE).on("K20c"),
                per_multiprocessor(231.8, ISSUE).on("K20c"),
            ]),
            after("matvec_lcs", "matvec_interleaved", &LOAD_BY_LOAD, &[
                threads(5609.4).said("5,609.4 threads"),
                per_multiprocessor(280.0, SATURATE),
                warps(8.0, SATURATE),
            ]),
            after("matvec_interleaved", "matvec_thread_per_element", &THREAD_PER_ELEMENT, &[
                threads(11_502.0).said("11,502 threads"),
                per_multiprocessor(575.0, SATURATE),
                warps(18.0, SATURATE),
                cycles(497.0),
                nanoseconds(287.3),
                warps(16.0, PEAK).said("between 16 and 20 warps/SM"),
            ]),
        ],
    },
];

//! Source 000: CSE 260, lecture 9 (Baden), with the figures of Volkov's that it cites.

use super::reasons::{COALESCED, TILED};
use super::{after, first};
use crate::reproduce::group::{
    COUNTS, Count, Figure, Group, Reason, Reference, Shown, Size, Timed, Unit, Useful,
};

const MEASURED: &str = "measured";
const PREDICTED: &str = "predicted";

const fn gflops(value: f64) -> Figure {
    Figure::new(value, Unit::Gflops, MEASURED)
}

/// The rate of multiply-adds with everything full: 16 blocks, 128 warps, for every multiprocessor.
const PEAK: Reference = Reference {
    rung: "fma_ilp_4",
    size: Size::PerMultiprocessor {
        blocks: 16,
        gpu: 16_384,
        emulator: 256,
    },
};

const OUTPUTS: Reason = Reason::new(
    "each element of B's tile read from shared memory serves twice as many accumulators, which are independent of each other",
    Shown::In(Count::Wavefronts),
)
.weighing(
    "the compiler merges a thread's loads along a row of A's tile into 128-bit ones, so shared \
     memory limits even the \
     first rung less",
    "shared memory delivers 32 words a cycle to 64 or 128 multiply-add units, so every load saved \
     counts",
);

const A_IN_REGISTERS: Reason = Reason::new(
    "an element of A goes straight to a register and feeds 16 accumulators; only B's block is in shared \
     memory",
    Shown::In(Count::Wavefronts),
);

const REGISTER_BLOCKED: Reason = Reason::new(
    "8 x 8 accumulators in a thread: 16 elements from shared memory, in 128-bit loads, feed 64 \
     multiply-adds",
    Shown::In(Count::Wavefronts),
);

const MORE_IN_FLIGHT: Reason = Reason::new(
    "twice the elements per thread, all loads before the first store: as many bytes in flight from \
     half the threads",
    Shown::In(Count::Instructions),
);

const WIDER_ACCESS: Reason = Reason::new(
    "the same bytes per thread in one wide access",
    Shown::In(Count::Instructions),
);

const ONE_MORE_CHAIN: Reason = Reason::new(
    "one more independent chain per thread: more multiply-adds in flight with the same 8 warps",
    Shown::InTime,
);

/// The tables.
pub const GROUPS: &[Group] = &[
    Group {
        title: "naive and tiled products in double precision",
        hardware: "one GPU of a K80",
        problem: "512 x 512 x 512, f64 (N follows from the GFLOP/s and times, whose decimal points \
            the text lost)",
        size: Size::Square {
            gpu: 512,
            emulator: 256,
        },
        useful: Useful::WarpFma,
        timed: &[Timed::Gflops, Timed::Milliseconds],
        counted: COUNTS,
        reference: None,
        entries: &[
            first("naive_uncoalesced_f64", &[]),
            after(
                "naive_uncoalesced_f64",
                "naive_f64",
                &COALESCED,
                &[
                    gflops(118.0),
                    Figure::new(2.27, Unit::Milliseconds, MEASURED),
                    Figure::new(8.9, Unit::Milliseconds, "predicted: data motion"),
                    Figure::new(0.195, Unit::Milliseconds, "predicted: computation"),
                ],
            ),
            after("naive_f64", "tiled_16_f64", &TILED, &[]),
            after(
                "naive_f64",
                "tiled_32_f64",
                &TILED,
                &[
                    gflops(259.0),
                    Figure::new(1.04, Unit::Milliseconds, MEASURED),
                ],
            ),
        ],
    },
    Group {
        title: "more outputs per thread",
        hardware: "not named in the notes (Volkov, GTC 2010)",
        problem: "no size given, f32",
        size: Size::Square {
            gpu: 4096,
            emulator: 256,
        },
        useful: Useful::WarpFma,
        timed: &[Timed::Gflops],
        counted: COUNTS,
        reference: None,
        entries: &[
            first("outputs_1", &[gflops(137.0)]),
            after("outputs_1", "outputs_2", &OUTPUTS, &[gflops(341.0)]),
            after("outputs_2", "outputs_4", &OUTPUTS, &[gflops(427.0)]),
            after("outputs_4", "outputs_8", &OUTPUTS, &[gflops(485.0)]),
        ],
    },
    Group {
        title: "registers before shared memory",
        hardware: "compute capability 1.x (Volkov and Demmel, SC08)",
        problem: "no size given, f32",
        size: Size::Square {
            gpu: 4096,
            emulator: 256,
        },
        useful: Useful::WarpFma,
        timed: &[Timed::PercentOfReference, Timed::Gflops],
        counted: COUNTS,
        reference: Some(PEAK),
        entries: &[
            first("outputs_8", &[]),
            after(
                "outputs_8",
                "volkov_sgemm",
                &A_IN_REGISTERS,
                &[
                    Figure::new(60.0, Unit::PercentOfPeak, "measured, in the paper")
                        .said("about 60 % of peak"),
                ],
            ),
            after("volkov_sgemm", "register_blocked", &REGISTER_BLOCKED, &[]),
        ],
    },
    Group {
        title: "hiding memory latency with fewer threads",
        hardware: "a GPU of 150 GB/s and 1,100 ns",
        problem: "no size given, f32",
        size: Size::Square {
            gpu: 4096,
            emulator: 512,
        },
        useful: Useful::WarpOutput,
        timed: &[Timed::Gbs],
        counted: COUNTS,
        reference: None,
        entries: &[
            first(
                "copy_1",
                &[Figure::new(35_000.0, Unit::Threads, PREDICTED).said("about 35,000 threads")],
            ),
            after("copy_1", "copy_2", &MORE_IN_FLIGHT, &[]),
            after("copy_2", "copy_4", &MORE_IN_FLIGHT, &[]),
            after("copy_4", "copy_8", &MORE_IN_FLIGHT, &[]),
            after("copy_2", "copy_vec2", &WIDER_ACCESS, &[]),
            after("copy_4", "copy_vec4", &WIDER_ACCESS, &[]),
        ],
    },
    Group {
        title: "hiding arithmetic latency with fewer threads: 8 warps per multiprocessor",
        hardware: "GT200 (C1060), of whose 32 warps 8 are 25 % occupancy",
        problem: "chains of dependent multiply-adds, f32",
        size: Size::PerMultiprocessor {
            blocks: 1,
            gpu: 16_384,
            emulator: 256,
        },
        useful: Useful::WarpFma,
        timed: &[Timed::PercentOfReference, Timed::Gflops],
        counted: COUNTS,
        reference: Some(PEAK),
        entries: &[
            first("fma_ilp_1", &[]),
            after("fma_ilp_1", "fma_ilp_2", &ONE_MORE_CHAIN, &[]),
            after("fma_ilp_2", "fma_ilp_3", &ONE_MORE_CHAIN, &[]),
            after(
                "fma_ilp_3",
                "fma_ilp_4",
                &ONE_MORE_CHAIN,
                &[Figure::new(
                    100.0,
                    Unit::PercentOfPeak,
                    "measured; number of chains not given",
                )],
            ),
        ],
    },
];

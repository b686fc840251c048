//! Source 004: Wolfe, "Compilers and More: Optimizing GPU Kernels" (2008).
//!
//! Figures are the middle of three runs, rounded down, on 4096 × 4096 matrices.

use super::reasons::{COALESCED, GUARDED};
use super::{after, first};
use crate::reproduce::group::{
    COUNTS, Count, Figure, Group, Reason, Shown, Size, Timed, Unit, Useful,
};

const GTX_280: &str = "GTX 280";
const KERNEL_ONLY: &str = "kernel only";

const fn host_to_host(value: f64) -> Figure {
    Figure::new(value, Unit::Gflops, "host to host")
}

const fn kernel_only(value: f64) -> Figure {
    Figure::new(value, Unit::Gflops, KERNEL_ONLY)
}

const fn on_host(value: f64) -> Figure {
    Figure::new(value, Unit::Gflops, "measured")
}

const BAD_ORDER: Reason = Reason::new(
    "every access of the inner loop is a row apart from the one before",
    Shown::InTime,
)
.weighing(
    "the caches hold the lines that one sweep of the inner loop touches until the next sweep uses \
     them",
    "the compiler turns the stride-1 loop into vector instructions, which have become wider, and \
     cannot do so here",
);

const BLOCKED: Reason = Reason::new(
    "blocks of the matrices stay in a core's caches while they are used",
    Shown::InTime,
)
.weighing(
    "caches and prefetchers already feed a stride-1 inner loop nearly as fast as a core computes",
    "a core computes faster in proportion to its memory than it did",
);

const ALL_CORES: Reason = Reason::new("blocks of rows on all cores", Shown::InTime).weighing(
    "there are fewer cores than the source's four, or they share their units, caches and time with \
     others",
    "there are more cores than the source's four",
);

const PACKED: Reason = Reason::new(
    "operands packed for a hand-tuned inner kernel on one core",
    Shown::InTime,
);

const ALONG_ROWS_AGAIN: Reason = Reason::new(
    "threads run along a column of A again, so a warp's loads are coalesced; the grid is still transposed",
    Shown::In(Count::Sectors),
)
.weighing(
    "an L1 cache keeps the scattered sectors of the kernel before for the rounds that follow",
    "the caches serve the repeated loads of coalesced warps, and scattered ones still wait for 32 \
     sectors each",
);

const GRID_ORDER: Reason = Reason::new(
    "blocks that run at the same time share a column of B instead of rows of A",
    Shown::InTime,
)
.weighing(
    "an L2 cache holds what the blocks that run at the same time share, in either order",
    "the caches hold the shared column, which leaves the memory to the rest",
);

const WIDER: Reason = Reason::new(
    "more warps in a block, and so more on a multiprocessor, which takes a limited number of blocks (8 there)",
    Shown::InTime,
)
.weighing(
    "a multiprocessor takes 16 to 32 blocks, so that narrow ones leave fewer of its warps unused",
    "more warps are needed to hide latency, and narrow blocks reach the limit of blocks first",
);

const STRIP_OF_B: Reason = Reason::new(
    "the element of B that all threads share comes from shared memory: one global load per \
     multiply-add, not two",
    Shown::In(Count::Sectors),
)
.weighing(
    "a load of one address by a whole warp is a single broadcast from L1, and the strips add \
     stores and barriers",
    "a load from L1 occupies the load unit for longer than one from shared memory",
);

const UNROLL_K: Reason = Reason::new(
    "the loop over k is unrolled: fewer tests and index updates per multiply-add",
    Shown::In(Count::Instructions),
)
.weighing(
    "the overhead of the loop issues while the warps wait for memory",
    "with memory served by caches, issue slots are the limit, and the overhead of the loop took \
     its share of them",
);

const UNROLL_I: Reason = Reason::new(
    "a thread has more rows: an element of B read from shared memory serves all of them, and their accumulators are independent",
    Shown::In(Count::Wavefronts),
)
.weighing(
    "each multiply-add still needs its own element of A, and that limits both kernels",
    "independent accumulators hide latency that a narrow block has too few warps to hide",
);

const UNROLL_J: Reason = Reason::new(
    "a thread has more columns: an element of A loaded from global memory serves all of them",
    Shown::In(Count::Sectors),
)
.weighing(
    "L1 and L2 caches answer most of the repeated loads of A, so fewer of them save less",
    "even from the caches, a load of A for each multiply-add is what limits the kernel before",
);

const COLUMNS_NOT_ROWS: Reason = Reason::new(
    "a thread has two columns instead of two rows: they share the element of A, the one that comes \
     from global memory",
    Shown::In(Count::Sectors),
)
.weighing(
    "L1 and L2 caches answer most of the repeated loads of A, so fewer of them save less",
    "even from the caches, a load of A for each multiply-add is what limits the kernel before",
);

const SQUARE_TILES: Reason = Reason::new(
    "16 x 16 tiles of both operands and one output per thread: two shared-memory loads for each \
     multiply-add",
    Shown::In(Count::Wavefronts),
)
.weighing(
    "the tiles save most of the global loads of A, which weigh more than the loads from shared \
     memory",
    "shared memory delivers 32 words a cycle to 64 or 128 multiply-add units, so its loads are the \
     limit",
);

const DISPATCHED: Reason = Reason::new(
    "the host looks at the size and picks the exact kernel for multiples, the guarded one \
     elsewhere",
    Shown::In(Count::Instructions),
);

/// The tables.
#[rustfmt::skip]
pub const GROUPS: &[Group] = &[
    Group {
        title: "products on the CPU",
        hardware: "Xeon, 3 GHz Penryn, 4 cores",
        problem: "4096 x 4096 x 4096, f32",
        size: Size::Square { gpu: 1024, emulator: 512 },
        useful: Useful::WarpFma,
        timed: &[Timed::Gflops],
        counted: &[],
        reference: None,
        entries: &[
            first("cpu_naive", &[on_host(1.7)]),
            after("cpu_naive", "cpu_strided", &BAD_ORDER, &[
                Figure::new(0.1, Unit::TimesBefore, "measured").said("over 10x slower"),
            ]),
            after("cpu_naive", "cpu_blocked", &BLOCKED, &[on_host(5.7)]),
            after("cpu_blocked", "cpu_blocked_parallel", &ALL_CORES, &[on_host(22.0)]),
            after("cpu_blocked", "cpu_nalgebra", &PACKED, &[]),
        ],
    },
    Group {
        title: "the series on the GPU, column-major",
        hardware: GTX_280,
        problem: "4096 x 4096 x 4096, f32",
        size: Size::Square { gpu: 4096, emulator: 256 },
        useful: Useful::WarpFma,
        timed: &[Timed::Gflops, Timed::HostToHostGflops],
        counted: COUNTS,
        reference: None,
        entries: &[
            first("wolfe_ks", &[host_to_host(1.7)]),
            after("wolfe_ks", "wolfe_k1_inverted", &ALONG_ROWS_AGAIN, &[host_to_host(5.7)]),
            after("wolfe_k1_inverted", "wolfe_k1_w32", &GRID_ORDER, &[host_to_host(28.0),
                kernel_only(29.0)]),
            after("wolfe_k1_w32", "wolfe_k1_w64", &WIDER, &[host_to_host(36.0), kernel_only(38.0)]),
            after("wolfe_k1_w64", "wolfe_k1_w128", &WIDER, &[host_to_host(35.0),
                kernel_only(36.0)]),
            after("wolfe_k1_w128", "wolfe_k1_w256", &WIDER, &[host_to_host(35.0),
                kernel_only(36.0)]),
            after("wolfe_k1_w32", "wolfe_k2_w32", &STRIP_OF_B, &[host_to_host(33.0)]),
            after("wolfe_k2_w32", "wolfe_k2_w64", &WIDER, &[host_to_host(55.0)]),
            after("wolfe_k2_w64", "wolfe_k2_w64_k2", &UNROLL_K, &[host_to_host(63.0)]),
            after("wolfe_k2_w64", "wolfe_k2_w128", &WIDER, &[host_to_host(63.0)]),
            after("wolfe_k2_w32", "wolfe_k3_w32_i2", &UNROLL_I, &[host_to_host(53.0)]),
            after("wolfe_k3_w32_i2", "wolfe_k3_w32_i4", &UNROLL_I, &[host_to_host(63.0)]),
            after("wolfe_k3_w32_i2", "wolfe_k3_w64_i2", &WIDER, &[host_to_host(63.0)]),
            after("wolfe_k3_w32_i2", "wolfe_k4_w32_j2", &COLUMNS_NOT_ROWS, &[host_to_host(59.0)]),
            after("wolfe_k4_w32_j2", "wolfe_k4_guarded", &GUARDED, &[
                Figure::new(0.95, Unit::TimesBefore, "measured").said("about 5 % slower"),
            ]),
            after("wolfe_k4_w32_j2", "wolfe_k4_w64_j2", &WIDER, &[host_to_host(98.0)]),
            after("wolfe_k4_w64_j2", "wolfe_k4_w128_j2", &WIDER, &[host_to_host(117.0)]),
            after("wolfe_k4_w128_j2", "wolfe_k4_w128_j4", &UNROLL_J, &[
                host_to_host(176.0),
                kernel_only(210.0).said("over 210 GFLOP/s"),
            ]),
            after("wolfe_k4_w128_j4", "wolfe_k4_w128_j4_k2", &UNROLL_K, &[host_to_host(202.0)]),
            after("wolfe_k4_w128_j4_k2", "wolfe_k4_w128_j4_k4", &UNROLL_K, &[host_to_host(208.0),
                kernel_only(265.0)]),
            after("wolfe_k4_w128_j4_k4", "wolfe_k5", &SQUARE_TILES, &[host_to_host(164.0)]),
            after("wolfe_k4_w128_j4_k4", "wolfe_dispatch", &DISPATCHED, &[]),
        ],
    },
    Group {
        title: "stride 1 or not, row-major: Ks and K1 with the roles of rows and columns exchanged",
        hardware: GTX_280,
        problem: "4096 x 4096 x 4096, f32",
        size: Size::Square { gpu: 4096, emulator: 256 },
        useful: Useful::WarpFma,
        timed: &[Timed::Gflops, Timed::HostToHostGflops],
        counted: COUNTS,
        reference: None,
        entries: &[
            first("naive_uncoalesced", &[host_to_host(1.7)]),
            after("naive_uncoalesced", "naive", &COALESCED, &[host_to_host(28.0),
                kernel_only(29.0)]),
        ],
    },
];

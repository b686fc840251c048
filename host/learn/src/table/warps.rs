//! Warps: shuffles and divergence.

use super::shared::{running_sums, sums};
use super::*;

pub(super) const WARP_SUM: Exercise = Exercise {
    name: "warp_sum",
    part: Part::Warps,
    teaches: "shuffles",
    files: files!("warp_sum"),
    chapter: "reduce",
    problem: Problem {
        cases: &[linear(
            3,
            96,
            &[
                array("input", 288, Holds::Digits),
                array("output", 9, Holds::Result),
            ],
        )],
        expected: |given| sums(&given.arrays[0], 32),
    },
    demands: &[NO_MEMORY, READ_ONCE],
};

pub(super) const WARP_SCAN: Exercise = Exercise {
    name: "warp_scan",
    part: Part::Warps,
    teaches: "running sums by shuffles",
    files: files!("warp_scan"),
    chapter: "scan",
    problem: Problem {
        cases: &[linear(
            3,
            96,
            &[
                array("input", 288, Holds::Digits),
                array("output", 288, Holds::Result),
            ],
        )],
        expected: |given| running_sums(&given.arrays[0], 32),
    },
    demands: &[NO_MEMORY, READ_ONCE],
};

pub(super) const BLOCK_SUM_FAST: Exercise = Exercise {
    name: "block_sum_fast",
    part: Part::Warps,
    teaches: "a reduction with one barrier",
    files: files!("block_sum_fast"),
    chapter: "reduce",
    problem: Problem {
        cases: &[linear(
            3,
            256,
            &[
                array("input", 768, Holds::Digits),
                array("output", 3, Holds::Result),
            ],
        )],
        expected: |given| sums(&given.arrays[0], 256),
    },
    demands: &[demand(
        Figure::Barriers,
        1.0,
        "one barrier is enough: the warps sum by shuffles",
    )],
};

pub(super) const DIVERGENCE: Exercise = Exercise {
    name: "divergence",
    part: Part::Warps,
    teaches: "branches that warps take as a whole",
    files: files!("divergence"),
    chapter: "divergence",
    problem: Problem {
        cases: &[linear(
            5,
            64,
            &[
                array("input", 320, Holds::Count),
                array("output", 320, Holds::Result),
            ],
        )],
        expected: |given| {
            let treat = |(index, &x): (usize, &f32)| {
                let step = |x: f32| match index % 2 {
                    0 => x.mul_add(0.5, 1.0),
                    _ => 1.0 / (1.0 + x),
                };
                (0..20).fold(x, |x, _| step(x))
            };
            given.arrays[0].iter().enumerate().map(treat).collect()
        },
    },
    demands: &[demand(
        Figure::Instructions,
        1.2,
        "its warps go through both branches",
    )],
};

const NO_MEMORY: Demand = demand(
    Figure::SharedRequests,
    1.0,
    "lanes read each other's registers by shuffles: no shared memory is needed",
);

const READ_ONCE: Demand = demand(
    Figure::GlobalRequests,
    1.0,
    "each lane reads its own element only, and gets the others' by shuffles",
);

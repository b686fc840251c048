//! All blocks together: reductions, scans, histograms.

use super::shared::running_sums;
use super::*;

pub(super) const HISTOGRAM: Exercise = Exercise {
    name: "histogram",
    part: Part::Blocks,
    teaches: "atomic additions to many places",
    files: files!("histogram"),
    chapter: "histogram",
    problem: Problem {
        cases: &[linear(4, 256, &counted(1000))],
        expected: |given| bins(&given.arrays[0]),
    },
    demands: &[],
};

pub(super) const HISTOGRAM_SHARED: Exercise = Exercise {
    name: "histogram_shared",
    part: Part::Blocks,
    teaches: "bins of each block, added once",
    files: files!("histogram_shared"),
    chapter: "histogram",
    problem: Problem {
        cases: &[linear(3, 128, &counted(2000))],
        expected: |given| bins(&given.arrays[0]),
    },
    demands: &[
        demand(
            Figure::GlobalRequests,
            1.2,
            "a block adds its nine counts to global memory once, at the end",
        ),
        demand(
            Figure::Barriers,
            1.0,
            "two barriers are enough: after the zeros, and after the counting",
        ),
    ],
};

pub(super) const GRID_SUM: Exercise = Exercise {
    name: "grid_sum",
    part: Part::Blocks,
    teaches: "one atomic addition for each block",
    files: files!("grid_sum"),
    chapter: "reduce",
    problem: Problem {
        cases: &[linear(
            5,
            256,
            &[
                array("input", 1200, Holds::Digits),
                array("output", 1, Holds::ResultFromZeros),
                Argument::Size(1200),
            ],
        )],
        expected: total,
    },
    demands: &[ONE_ADDITION],
};

pub(super) const DOT: Exercise = Exercise {
    name: "dot",
    part: Part::Blocks,
    teaches: "a register for each thread before a reduction of the block",
    files: files!("dot"),
    chapter: "reduce",
    problem: Problem {
        cases: &[linear(
            3,
            256,
            &[
                array("x", 5000, Holds::Digits),
                array("y", 5000, Holds::Digits),
                array("output", 1, Holds::ResultFromZeros),
                Argument::Size(5000),
            ],
        )],
        expected: |given| {
            let pairs = given.arrays[0].iter().zip(&given.arrays[1]);
            vec![pairs.map(|(x, y)| x * y).sum()]
        },
    },
    demands: &[
        demand(
            Figure::Barriers,
            1.0,
            "the block's threads are added up once, behind the loop",
        ),
        ONE_ADDITION,
    ],
};

pub(super) const LAST_BLOCK: Exercise = Exercise {
    name: "last_block",
    part: Part::Blocks,
    teaches: "the last block finishes, in a fixed order",
    files: files!("last_block"),
    chapter: "reduce",
    problem: Problem {
        cases: &[linear(
            5,
            256,
            &[
                array("input", 1200, Holds::Digits),
                array("partial", 5, Holds::Zeros),
                array("counter", 1, Holds::Zeros),
                array("output", 1, Holds::Result),
                Argument::Size(1200),
            ],
        )],
        expected: total,
    },
    demands: &[],
};

pub(super) const BLOCK_SCAN: Exercise = Exercise {
    name: "block_scan",
    part: Part::Blocks,
    teaches: "running sums over warps",
    files: files!("block_scan"),
    chapter: "scan",
    problem: Problem {
        cases: &[linear(
            3,
            256,
            &[
                array("input", 768, Holds::Digits),
                array("output", 768, Holds::Result),
            ],
        )],
        expected: |given| running_sums(&given.arrays[0], 256),
    },
    demands: &[demand(
        Figure::Barriers,
        1.0,
        "one barrier is enough: each warp adds up the totals of the warps before it",
    )],
};

pub(super) const COMPACT: Exercise = Exercise {
    name: "compact",
    part: Part::Blocks,
    teaches: "a ballot, and ranks from its bits",
    files: files!("compact"),
    chapter: "scan",
    problem: Problem {
        cases: &[linear(
            3,
            96,
            &[
                array("input", 288, Holds::Digits),
                matrix("output", 9, 32, Holds::ResultFromZeros),
            ],
        )],
        expected: |given| {
            let row = |warp: &[f32]| {
                let mut row: Vec<f32> = warp.iter().copied().filter(|&x| x > 0.0).collect();
                row.resize(32, 0.0);
                row
            };
            given.arrays[0].chunks(32).flat_map(row).collect()
        },
    },
    demands: &[
        demand(
            Figure::GlobalRequests,
            1.0,
            "a ballot tells the rank: nothing is read a second time",
        ),
        demand(
            Figure::Instructions,
            2.0,
            "one ballot and one count of bits give the rank; a loop over the lanes takes longer",
        ),
    ],
};

pub(super) const BITONIC: Exercise = Exercise {
    name: "bitonic",
    part: Part::Blocks,
    teaches: "a sorting network",
    files: files!("bitonic"),
    chapter: "guarded",
    problem: Problem {
        cases: &[linear(
            3,
            64,
            &[
                array("input", 192, Holds::Digits),
                matrix("output", 3, 64, Holds::Result),
            ],
        )],
        expected: |given| {
            let sorted = |block: &[f32]| {
                let mut block = block.to_vec();
                block.sort_by(f32::total_cmp);
                block
            };
            given.arrays[0].chunks(64).flat_map(sorted).collect()
        },
    },
    demands: &[demand(
        Figure::Barriers,
        1.0,
        "one barrier for each step is enough",
    )],
};

const ONE_ADDITION: Demand = demand(
    Figure::GlobalRequests,
    1.0,
    "one thread of a block adds the block's sum: all others need not touch the output",
);

const fn counted(elements: usize) -> [Argument; 3] {
    [
        array("input", elements, Holds::Digits),
        array("bins", 9, Holds::ResultFromZeros),
        Argument::Size(elements),
    ]
}

fn total(given: &Given) -> Vec<f32> {
    vec![given.arrays[0].iter().sum()]
}

/// How often each whole number from -4 to 4 occurs.
fn bins(input: &[f32]) -> Vec<f32> {
    let mut bins = vec![0.0; 9];
    for x in input {
        bins[(x + 4.0) as usize] += 1.0;
    }
    bins
}

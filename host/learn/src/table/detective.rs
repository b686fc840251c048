//! Kernels that are wrong: a sanitizer's report leads to the fault.

use super::shared::running_sums;
use super::*;

pub(super) const WRONG_EDGE: Exercise = Exercise {
    name: "wrong_edge",
    part: Part::Detective,
    teaches: "an access out of bounds",
    files: files!("wrong_edge"),
    chapter: "races",
    problem: Problem {
        cases: &[plane(
            [3, 8],
            [32, 4],
            &[
                matrix("a", 30, 70, Holds::Count),
                matrix("b", 30, 70, Holds::Digits),
                matrix("c", 30, 70, Holds::Result),
                Argument::Size(30),
                Argument::Size(70),
            ],
        )],
        expected: |given| {
            let pairs = given.arrays[0].iter().zip(&given.arrays[1]);
            pairs.map(|(a, b)| a + b).collect()
        },
    },
    demands: &[],
};

pub(super) const LOST_ADDITIONS: Exercise = Exercise {
    name: "lost_additions",
    part: Part::Detective,
    teaches: "a race on one element",
    files: files!("lost_additions"),
    chapter: "races",
    problem: Problem {
        cases: &[linear(
            4,
            64,
            &[
                array("input", 200, Holds::Digits),
                array("total", 1, Holds::ResultFromZeros),
                Argument::Size(200),
            ],
        )],
        expected: |given| vec![given.arrays[0].iter().sum()],
    },
    demands: &[],
};

pub(super) const LONELY_BARRIER: Exercise = Exercise {
    name: "lonely_barrier",
    part: Part::Detective,
    teaches: "a barrier that not all threads reach",
    files: files!("lonely_barrier"),
    chapter: "divergence",
    problem: Problem {
        cases: &[linear(
            3,
            96,
            &[
                array("input", 270, Holds::Count),
                array("output", 288, Holds::Result),
                Argument::Size(270),
            ],
        )],
        expected: |given| {
            let element = |i: usize| given.arrays[0].get(i).copied().unwrap_or_default();
            (0..given.threads).map(|i| element(i ^ 1)).collect()
        },
    },
    demands: &[],
};

pub(super) const STALE_TILE: Exercise = Exercise {
    name: "stale_tile",
    part: Part::Detective,
    teaches: "a read of memory that was never written",
    files: files!("stale_tile"),
    chapter: "races",
    problem: Problem {
        cases: &[linear(
            4,
            64,
            &[
                array("input", 230, Holds::Count),
                array("output", 4, Holds::Result),
                Argument::Size(230),
            ],
        )],
        expected: |given| {
            let blocks = given.arrays[0].chunks(64);
            blocks
                .map(|block| block.iter().copied().fold(0.0, f32::max))
                .collect()
        },
    },
    demands: &[],
};

pub(super) const EARLY_BIRD: Exercise = Exercise {
    name: "early_bird",
    part: Part::Detective,
    teaches: "a race between two rounds",
    files: files!("early_bird"),
    chapter: "races",
    problem: Problem {
        cases: &[linear(
            2,
            128,
            &[
                array("input", 256, Holds::Digits),
                array("output", 256, Holds::Result),
            ],
        )],
        expected: |given| running_sums(&given.arrays[0], 128),
    },
    demands: &[],
};

pub(super) const SILENT_LANES: Exercise = Exercise {
    name: "silent_lanes",
    part: Part::Detective,
    teaches: "a shuffle that not all lanes execute",
    files: files!("silent_lanes"),
    chapter: "divergence",
    problem: Problem {
        cases: &[linear(
            2,
            64,
            &[
                array("input", 128, Holds::Count),
                array("output", 64, Holds::Result),
            ],
        )],
        expected: |given| {
            let warps = given.arrays[0].chunks(32);
            warps
                .flat_map(|warp| (0..16).map(move |lane| warp[lane] + warp[lane + 16]))
                .collect()
        },
    },
    demands: &[],
};

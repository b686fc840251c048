//! Shared memory and barriers.

use super::first::window_sums;
use super::*;

pub(super) const BLOCK_REVERSE: Exercise = Exercise {
    name: "block_reverse",
    part: Part::Shared,
    teaches: "shared memory, a barrier",
    files: files!("block_reverse"),
    problem: Problem {
        cases: &[linear(
            3,
            128,
            &[
                array("input", 384, Holds::Count),
                array("output", 384, Holds::Result),
            ],
        )],
        expected: |given| {
            let blocks = given.arrays[0].chunks(128);
            blocks
                .flat_map(|block| block.iter().rev().copied())
                .collect()
        },
    },
    demands: &[],
};

pub(super) const STENCIL_SHARED: Exercise = Exercise {
    name: "stencil_shared",
    part: Part::Shared,
    teaches: "load once, use often; a halo",
    files: files!("stencil_shared"),
    problem: Problem {
        cases: &[linear(
            8,
            128,
            &[
                array("input", 1000, Holds::Digits),
                array("output", 1000, Holds::Result),
                Argument::Size(1000),
            ],
        )],
        expected: |given| window_sums(&given.arrays[0], 3),
    },
    demands: &[demand(
        Figure::GlobalRequests,
        1.25,
        "each element of the tile takes one load from global memory, and the sum takes none",
    )],
};

pub(super) const BLOCK_SUM: Exercise = Exercise {
    name: "block_sum",
    part: Part::Shared,
    teaches: "a reduction in rounds",
    files: files!("block_sum"),
    problem: Problem {
        cases: &[linear(
            8,
            128,
            &[
                array("input", 1000, Holds::Digits),
                array("output", 8, Holds::Result),
                Argument::Size(1000),
            ],
        )],
        expected: |given| sums(&given.arrays[0], 128),
    },
    demands: &[],
};

/// The sums of `of` elements each.
pub(super) fn sums(input: &[f32], of: usize) -> Vec<f32> {
    input.chunks(of).map(|part| part.iter().sum()).collect()
}

/// The running sums within `of` elements each.
pub(super) fn running_sums(input: &[f32], of: usize) -> Vec<f32> {
    let parts = input.chunks(of);
    let running = |part: &[f32]| {
        let mut sum = 0.0;
        let add = |x: &f32| {
            sum += x;
            sum
        };
        part.iter().map(add).collect::<Vec<f32>>()
    };
    parts.flat_map(running).collect()
}

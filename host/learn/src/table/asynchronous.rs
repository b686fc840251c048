//! Asynchronous copies, barriers that count, and tensor cores.

use super::*;

/// Tiles that a block adds, of one element for each thread that adds.
const TILES: usize = 8;

pub(super) const ASYNC_TILE: Exercise = Exercise {
    name: "async_tile",
    part: Part::Async,
    teaches: "a copy without registers",
    files: files!("async_tile"),
    chapter: "cp-async",
    problem: Problem {
        cases: &[linear(3, 128, &ELEMENTS)],
        expected: |given| reversed(given, 128),
    },
    demands: &[COPIES],
};

pub(super) const STALE_COPY: Exercise = Exercise {
    name: "stale_copy",
    part: Part::Detective,
    teaches: "a copy that is not waited for",
    files: files!("stale_copy"),
    chapter: "cp-async",
    problem: Problem {
        cases: &[linear(3, 128, &ELEMENTS)],
        expected: |given| reversed(given, 128),
    },
    demands: &[],
};

pub(super) const ASYNC_STAGES: Exercise = Exercise {
    name: "async_stages",
    part: Part::Async,
    teaches: "the next tile in flight",
    files: files!("async_stages"),
    chapter: "cp-async",
    problem: Problem {
        cases: &[linear(
            3,
            64,
            &[
                array("input", 3 * TILES * 64, Holds::Digits),
                array("output", 3 * 64, Holds::Result),
            ],
        )],
        expected: |given| sums_of_reversed_tiles(given, 64),
    },
    demands: &[COPIES],
};

pub(super) const PRODUCER: Exercise = Exercise {
    name: "producer",
    part: Part::Async,
    teaches: "producer and consumer warps, mbarriers",
    files: files!("producer"),
    chapter: "wgmma-persistent",
    problem: Problem {
        cases: &[linear(
            3,
            64,
            &[
                array("input", 3 * TILES * 32, Holds::Digits),
                array("output", 3 * 32, Holds::Result),
            ],
        )],
        expected: |given| sums_of_reversed_tiles(given, 32),
    },
    demands: &[demand(
        Figure::Barriers,
        1.0,
        "the two warps wait for each other at mbarriers: no block barrier is in the loop",
    )],
};

pub(super) const MMA_TILE: Exercise = Exercise {
    name: "mma_tile",
    part: Part::TensorCores,
    teaches: "fragments of mma.sync",
    files: files!("mma_tile"),
    chapter: "mma",
    problem: Problem {
        cases: &[linear(
            1,
            32,
            &[
                matrix("a", 16, 32, Holds::Digits),
                matrix("b", 32, 8, Holds::Digits),
                matrix("c", 16, 8, Holds::Result),
            ],
        )],
        expected: |given| {
            let (a, b) = (&given.arrays[0], &given.arrays[1]);
            let element = |index: usize| {
                let (row, column) = (index / 8, index % 8);
                (0..32).map(|i| a[row * 32 + i] * b[i * 8 + column]).sum()
            };
            (0..16 * 8).map(element).collect()
        },
    },
    demands: &[demand(
        Figure::Instructions,
        1.5,
        "the tensor core makes 1,024 products at once: no other multiplication is needed",
    )],
};

const COPIES: Demand = demand(
    Figure::RegisterLoads,
    1.0,
    "`async_copy::copy_4` writes to shared memory by itself: no thread loads into a register",
);

const ELEMENTS: [Argument; 2] = [
    array("input", 384, Holds::Count),
    array("output", 384, Holds::Result),
];

fn reversed(given: &Given, of: usize) -> Vec<f32> {
    let blocks = given.arrays[0].chunks(of);
    blocks
        .flat_map(|block| block.iter().rev().copied())
        .collect()
}

/// For each block the sums, element by element, of its tiles of this width, each reversed.
fn sums_of_reversed_tiles(given: &Given, width: usize) -> Vec<f32> {
    let block = |block: &[f32]| {
        let element = |i: usize| block.chunks(width).map(|tile| tile[width - 1 - i]).sum();
        (0..width).map(element).collect::<Vec<f32>>()
    };
    given.arrays[0]
        .chunks(TILES * width)
        .flat_map(block)
        .collect()
}

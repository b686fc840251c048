//! Shared memory and barriers.

use super::first::window_sums;
use super::*;

pub(super) const BLOCK_REVERSE: Exercise = Exercise {
    name: "block_reverse",
    part: Part::Shared,
    teaches: "shared memory, a barrier",
    files: files!("block_reverse"),
    chapter: "tiled",
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
            let reversed = |t: usize| (t as u32).reverse_bits() as usize >> 25;
            let block = |block: &[f32]| (0..128).map(|t| block[reversed(t)]).collect::<Vec<_>>();
            given.arrays[0].chunks(128).flat_map(block).collect()
        },
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.0,
        "a warp is to read neighbours of the input: the order changes in shared memory",
    )],
};

pub(super) const STENCIL_SHARED: Exercise = Exercise {
    name: "stencil_shared",
    part: Part::Shared,
    teaches: "load once, use often; a halo",
    files: files!("stencil_shared"),
    chapter: "tiled",
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
    chapter: "reduce",
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
    demands: &[demand(
        Figure::SharedRequests,
        1.25,
        "half of the threads that are left add in each round, and not one thread alone",
    )],
};

pub(super) const BLUR: Exercise = Exercise {
    name: "blur",
    part: Part::Shared,
    teaches: "a tile in two dimensions, with a halo",
    files: files!("blur"),
    chapter: "guarded",
    problem: Problem {
        cases: &[plane(
            [3, 3],
            [16, 16],
            &[
                matrix("input", 37, 45, Holds::Digits),
                matrix("output", 37, 45, Holds::Result),
                Argument::Size(37),
                Argument::Size(45),
            ],
        )],
        expected: |given| {
            let (rows, columns) = (given.sizes[0], given.sizes[1]);
            let near = |at: usize, of: usize| at.saturating_sub(1)..of.min(at + 2);
            let element = |index: usize| {
                let row = |row: usize| {
                    let at = |column: usize| given.arrays[0][row * columns + column];
                    near(index % columns, columns).map(at).sum::<f32>()
                };
                near(index / columns, rows).map(row).sum()
            };
            (0..rows * columns).map(element).collect()
        },
    },
    demands: &[demand(
        Figure::GlobalRequests,
        1.25,
        "each element of the tile takes one load from global memory, and the sum takes none",
    )],
};

pub(super) const OCCUPANCY: Exercise = Exercise {
    name: "occupancy",
    part: Part::Shared,
    teaches: "shared memory that limits occupancy",
    files: files!("occupancy"),
    chapter: "occupancy",
    problem: Problem {
        cases: &[linear(
            3,
            64,
            &[
                matrix("input", 32, 192, Holds::Digits),
                array("output", 192, Holds::Result),
            ],
        )],
        expected: |given| {
            let sum = |i: usize| (0..32).map(|round| given.arrays[0][round * 192 + i]).sum();
            let sums: Vec<f32> = (0..192).map(sum).collect();
            let blocks = sums.chunks(64);
            blocks
                .flat_map(|block| block.iter().rev().copied())
                .collect()
        },
    },
    demands: &[demand(
        Figure::SharedBytes,
        1.0,
        "a thread's own elements belong into a register: 64 results are 256 bytes of shared memory",
    )],
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

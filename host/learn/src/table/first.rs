//! First steps: threads, indices, guards.

use super::*;

pub(super) const ADD_ONE: Exercise = Exercise {
    name: "add_one",
    part: Part::First,
    teaches: "one thread, one element",
    files: files!("add_one"),
    chapter: "own-kernels",
    problem: Problem {
        cases: &[linear(
            5,
            64,
            &[
                array("input", 320, Holds::Count),
                array("output", 320, Holds::Result),
            ],
        )],
        expected: |given| given.arrays[0].iter().map(|x| x + 1.0).collect(),
    },
    demands: &[],
};

pub(super) const SAXPY: Exercise = Exercise {
    name: "saxpy",
    part: Part::First,
    teaches: "a guard for threads without an element",
    files: files!("saxpy"),
    chapter: "own-kernels",
    problem: Problem {
        cases: &[linear(
            4,
            256,
            &[
                Argument::Float(3.0),
                array("x", 1000, Holds::Digits),
                array("y", 1000, Holds::ResultInPlace),
                Argument::Size(1000),
            ],
        )],
        expected: |given| {
            let (factor, pairs) = (
                given.floats[0],
                given.arrays[0].iter().zip(&given.arrays[1]),
            );
            pairs.map(|(x, y)| factor * x + y).collect()
        },
    },
    demands: &[],
};

pub(super) const GRID_STRIDE: Exercise = Exercise {
    name: "grid_stride",
    part: Part::First,
    teaches: "any grid for any size",
    files: files!("grid_stride"),
    chapter: "latency",
    problem: Problem {
        cases: &[
            linear(
                2,
                96,
                &[
                    array("input", 1000, Holds::Count),
                    array("output", 1000, Holds::Result),
                    Argument::Size(1000),
                ],
            ),
            linear(
                3,
                64,
                &[
                    array("input", 50, Holds::Count),
                    array("output", 50, Holds::Result),
                    Argument::Size(50),
                ],
            ),
        ],
        expected: |given| given.arrays[0].iter().map(|x| 2.0 * x).collect(),
    },
    demands: &[],
};

pub(super) const REVERSE: Exercise = Exercise {
    name: "reverse",
    part: Part::First,
    teaches: "index arithmetic",
    files: files!("reverse"),
    chapter: "own-kernels",
    problem: Problem {
        cases: &[linear(
            4,
            128,
            &[
                array("input", 500, Holds::Count),
                array("output", 500, Holds::Result),
                Argument::Size(500),
            ],
        )],
        expected: |given| given.arrays[0].iter().rev().copied().collect(),
    },
    demands: &[],
};

pub(super) const SCALE_ROWS: Exercise = Exercise {
    name: "scale_rows",
    part: Part::First,
    teaches: "two dimensions, row-major",
    files: files!("scale_rows"),
    chapter: "naive",
    problem: Problem {
        cases: &[plane(
            [3, 4],
            [16, 8],
            &[
                matrix("input", 29, 45, Holds::Count),
                matrix("output", 29, 45, Holds::Result),
                Argument::Size(29),
                Argument::Size(45),
            ],
        )],
        expected: |given| {
            let elements = given.arrays[0].iter().enumerate();
            let row = |index: usize| (index / given.sizes[1]) as f32;
            elements.map(|(index, x)| row(index) * x).collect()
        },
    },
    demands: &[],
};

pub(super) const STENCIL: Exercise = Exercise {
    name: "stencil",
    part: Part::First,
    teaches: "neighbours, and both ends",
    files: files!("stencil"),
    chapter: "naive",
    problem: Problem {
        cases: &[linear(
            4,
            128,
            &[
                array("input", 500, Holds::Digits),
                array("output", 500, Holds::Result),
                Argument::Size(500),
            ],
        )],
        expected: |given| window_sums(&given.arrays[0], 1),
    },
    demands: &[],
};

pub(super) const OUTER_SUM: Exercise = Exercise {
    name: "outer_sum",
    part: Part::First,
    teaches: "one element for a whole warp",
    files: files!("outer_sum"),
    chapter: "naive",
    problem: Problem {
        cases: &[plane(
            [2, 5],
            [32, 8],
            &[
                array("a", 37, Holds::Count),
                array("b", 50, Holds::Digits),
                matrix("output", 37, 50, Holds::Result),
                Argument::Size(37),
                Argument::Size(50),
            ],
        )],
        expected: |given| {
            let row = |a: &f32| given.arrays[1].iter().map(|b| a + b).collect::<Vec<f32>>();
            given.arrays[0].iter().flat_map(row).collect()
        },
    },
    demands: &[],
};

/// The sum of each element and as far as `radius` around it.
pub(super) fn window_sums(input: &[f32], radius: usize) -> Vec<f32> {
    let window = |i: usize| &input[i.saturating_sub(radius)..input.len().min(i + radius + 1)];
    (0..input.len()).map(|i| window(i).iter().sum()).collect()
}

//! Global memory: coalescing and vectors.

use super::*;

pub(super) const COALESCED: Exercise = Exercise {
    name: "coalesced",
    part: Part::Memory,
    teaches: "neighbouring threads, neighbouring elements",
    files: files!("coalesced"),
    chapter: "naive-uncoalesced",
    problem: Problem {
        cases: &[plane(
            [2, 16],
            [32, 4],
            &[
                matrix("input", 64, 64, Holds::Count),
                matrix("output", 64, 64, Holds::Result),
                Argument::Size(64),
                Argument::Size(64),
            ],
        )],
        expected: |given| given.arrays[0].iter().map(|x| x + 1.0).collect(),
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.0,
        "neighbouring threads access elements of different rows, each in a sector of its own",
    )],
};

pub(super) const CHUNKS: Exercise = Exercise {
    name: "chunks",
    part: Part::Memory,
    teaches: "several elements per thread, coalesced",
    files: files!("chunks"),
    chapter: "naive-uncoalesced",
    problem: Problem {
        cases: &[linear(
            5,
            96,
            &[
                array("input", 1920, Holds::Count),
                array("output", 1920, Holds::Result),
            ],
        )],
        expected: |given| given.arrays[0].iter().map(|x| 3.0 * x).collect(),
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.0,
        "in one round the threads of a warp access elements that are not neighbours",
    )],
};

pub(super) const VECTOR_LOADS: Exercise = Exercise {
    name: "vector_loads",
    part: Part::Memory,
    teaches: "16 bytes in one access",
    files: files!("vector_loads"),
    chapter: "latency",
    problem: Problem {
        cases: &[linear(
            5,
            96,
            &[
                array("input", 1920, Holds::Count),
                array("output", 1920, Holds::Result),
            ],
        )],
        expected: |given| given.arrays[0].iter().map(|x| 2.0 * x).collect(),
    },
    demands: &[demand(
        Figure::GlobalRequests,
        1.0,
        "one load and one store per thread are enough for its 4 elements",
    )],
};

pub(super) const STRUCTS: Exercise = Exercise {
    name: "structs",
    part: Part::Memory,
    teaches: "an array of structs, read as vectors",
    files: files!("structs"),
    chapter: "naive-uncoalesced",
    problem: Problem {
        cases: &[linear(
            3,
            96,
            &[
                matrix("input", 256, 4, Holds::Count),
                matrix("output", 4, 256, Holds::Result),
                Argument::Size(256),
            ],
        )],
        expected: |given| {
            let member = |member: usize| given.arrays[0].iter().copied().skip(member).step_by(4);
            (0..4).flat_map(member).collect()
        },
    },
    demands: &[demand(
        Figure::GlobalRequests,
        1.0,
        "a particle is four neighbours, 16 bytes: one load brings all of them",
    )],
};

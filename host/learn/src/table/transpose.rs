//! Transposes.

use super::*;

pub(super) const TRANSPOSE: Exercise = Exercise {
    name: "transpose",
    part: Part::Transpose,
    teaches: "rows become columns",
    files: files!("transpose"),
    chapter: "transpose-naive",
    problem: Problem {
        cases: &[plane(
            [5, 6],
            [16, 8],
            &[
                matrix("input", 45, 70, Holds::Count),
                matrix("output", 70, 45, Holds::Result),
                Argument::Size(45),
                Argument::Size(70),
            ],
        )],
        expected: transposed,
    },
    demands: &[],
};

pub(super) const TRANSPOSE_TILE: Exercise = Exercise {
    name: "transpose_tile",
    part: Part::Transpose,
    teaches: "turned in shared memory",
    files: files!("transpose_tile"),
    chapter: "transpose-shared",
    problem: TILES,
    demands: &[COALESCED],
};

pub(super) const TRANSPOSE_PADDED: Exercise = Exercise {
    name: "transpose_padded",
    part: Part::Transpose,
    teaches: "bank conflicts, and padding against them",
    files: files!("transpose_padded"),
    chapter: "transpose-padded",
    problem: TILES,
    demands: &[COALESCED, CONFLICT_FREE],
};

pub(super) const TRANSPOSE_SWIZZLED: Exercise = Exercise {
    name: "transpose_swizzled",
    part: Part::Transpose,
    teaches: "a swizzle in place of padding",
    files: files!("transpose_swizzled"),
    chapter: "transpose-padded",
    problem: TILES,
    demands: &[COALESCED, CONFLICT_FREE],
};

/// Two by three tiles of 32 × 32.
const TILES: Problem = Problem {
    cases: &[plane(
        [3, 2],
        [32, 32],
        &[
            matrix("input", 64, 96, Holds::Count),
            matrix("output", 96, 64, Holds::Result),
            Argument::Size(64),
            Argument::Size(96),
        ],
    )],
    expected: transposed,
};

const COALESCED: Demand = demand(
    Figure::GlobalSectors,
    1.0,
    "a row of the tile is to be read from a row and written to a row",
);

const CONFLICT_FREE: Demand = demand(
    Figure::Conflicts,
    1.0,
    "a warp accesses several elements of one bank of shared memory",
);

fn transposed(given: &Given) -> Vec<f32> {
    let (rows, columns) = (given.sizes[0], given.sizes[1]);
    let input = &given.arrays[0];
    let column = |column: usize| (0..rows).map(move |row| input[row * columns + column]);
    (0..columns).flat_map(column).collect()
}

//! Matrix-vector products.

use super::*;

pub(super) const MATVEC: Exercise = Exercise {
    name: "matvec",
    part: Part::Matvec,
    teaches: "a thread for each row",
    files: files!("matvec"),
    chapter: "matvec-lcs",
    problem: Problem {
        cases: &[linear(2, 64, &arguments(100, 40))],
        expected: |given| product(given, |row, column| row * given.sizes[1] + column),
    },
    demands: &[],
};

pub(super) const MATVEC_INTERLEAVED: Exercise = Exercise {
    name: "matvec_interleaved",
    part: Part::Matvec,
    teaches: "the layout decides what is coalesced",
    files: files!("matvec_interleaved"),
    chapter: "matvec-interleaved",
    problem: Problem {
        cases: &[linear(2, 64, &arguments(100, 40))],
        expected: |given| product(given, |row, column| column * given.sizes[0] + row),
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.0,
        "neighbouring rows lie side by side: let neighbouring threads read them together",
    )],
};

pub(super) const MATVEC_WARP: Exercise = Exercise {
    name: "matvec_warp",
    part: Part::Matvec,
    teaches: "a warp for each row",
    files: files!("matvec_warp"),
    chapter: "matvec-thread-per-element",
    problem: Problem {
        cases: &[linear(7, 96, &arguments(20, 100))],
        expected: |given| product(given, |row, column| row * given.sizes[1] + column),
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.0,
        "in one round the lanes of a warp are to read neighbouring elements of a row",
    )],
};

const fn arguments(rows: usize, columns: usize) -> [Argument; 5] {
    [
        matrix("matrix", rows, columns, Holds::Digits),
        array("x", columns, Holds::Digits),
        array("y", rows, Holds::Result),
        Argument::Size(rows),
        Argument::Size(columns),
    ]
}

/// The product, of a matrix whose elements are at these indices.
fn product(given: &Given, index: impl Fn(usize, usize) -> usize) -> Vec<f32> {
    let (rows, columns) = (given.sizes[0], given.sizes[1]);
    let (matrix, x) = (&given.arrays[0], &given.arrays[1]);
    let term = |row, column| matrix[index(row, column)] * x[column];
    let sum = |row| (0..columns).map(|column| term(row, column)).sum();
    (0..rows).map(sum).collect()
}

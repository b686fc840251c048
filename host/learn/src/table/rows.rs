//! Rows that are normalised. Powers are those of 2, which are exact for whole numbers.

use super::*;

/// Elements of a row of softmax.
const COLUMNS: usize = 96;

pub(super) const SOFTMAX: Exercise = Exercise {
    name: "softmax",
    part: Part::Rows,
    teaches: "three passes over a row, a warp for each",
    files: files!("softmax"),
    chapter: "softmax",
    problem: Problem {
        cases: &[linear(3, 128, &rows(12, COLUMNS))],
        expected: shares,
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.25,
        "the lanes of a warp are to read neighbours of one row",
    )],
};

pub(super) const SOFTMAX_ONLINE: Exercise = Exercise {
    name: "softmax_online",
    part: Part::Rows,
    teaches: "the largest and the sum in one pass",
    files: files!("softmax_online"),
    chapter: "softmax",
    problem: Problem {
        cases: &[linear(3, 128, &rows(12, COLUMNS))],
        expected: shares,
    },
    demands: &[demand(
        Figure::GlobalRequests,
        1.0,
        "the largest element and the sum come out of one pass: each element is read twice",
    )],
};

pub(super) const LAYERNORM: Exercise = Exercise {
    name: "layernorm",
    part: Part::Rows,
    teaches: "two sums from one read, rows in registers",
    files: files!("layernorm"),
    chapter: "layernorm",
    problem: Problem {
        cases: &[linear(3, 96, &rows(9, 64))],
        expected: |given| {
            let row = |row: &[f32]| {
                let mean = row.iter().sum::<f32>() / 64.0;
                let squares = row.iter().map(|x| x * x).sum::<f32>() / 64.0;
                let deviation = (squares - mean * mean + 0.5).sqrt();
                row.iter()
                    .map(|x| (x - mean) / deviation)
                    .collect::<Vec<f32>>()
            };
            given.arrays[0].chunks(64).flat_map(row).collect()
        },
    },
    demands: &[demand(
        Figure::GlobalRequests,
        1.0,
        "a row stays in registers: each element is read once",
    )],
};

const fn rows(rows: usize, columns: usize) -> [Argument; 2] {
    [
        matrix("input", rows, columns, Holds::Digits),
        matrix("output", rows, columns, Holds::Result),
    ]
}

/// The softmax of rows, with powers of 2.
fn shares(given: &Given) -> Vec<f32> {
    let row = |row: &[f32]| {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers = || row.iter().map(|x| (x - largest).exp2());
        let sum: f32 = powers().sum();
        powers().map(|power| power / sum).collect::<Vec<f32>>()
    };
    given.arrays[0].chunks(COLUMNS).flat_map(row).collect()
}

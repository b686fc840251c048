//! Matrix products.

use super::*;

pub(super) const MATMUL: Exercise = Exercise {
    name: "matmul",
    part: Part::Matmul,
    teaches: "a thread for each output",
    files: files!("matmul"),
    chapter: "naive",
    problem: Problem {
        cases: &[plane([3, 5], [16, 8], &arguments(37, 45, 29))],
        expected: product,
    },
    demands: &[demand(
        Figure::GlobalSectors,
        1.1,
        "neighbouring threads in x are to compute neighbouring columns",
    )],
};

pub(super) const MATMUL_TILED: Exercise = Exercise {
    name: "matmul_tiled",
    part: Part::Matmul,
    teaches: "tiles in shared memory",
    files: files!("matmul_tiled"),
    chapter: "tiled",
    problem: Problem {
        cases: &[plane([4, 3], [16, 16], &arguments(48, 64, 32))],
        expected: product,
    },
    demands: &[ONCE, NO_CONFLICTS],
};

pub(super) const MATMUL_GUARDED: Exercise = Exercise {
    name: "matmul_guarded",
    part: Part::Matmul,
    teaches: "tiles at the edge",
    files: files!("matmul_guarded"),
    chapter: "guarded",
    problem: Problem {
        cases: &[plane([3, 3], [16, 16], &arguments(37, 45, 29))],
        expected: product,
    },
    demands: &[ONCE],
};

pub(super) const MATMUL_OUTPUTS: Exercise = Exercise {
    name: "matmul_outputs",
    part: Part::Matmul,
    teaches: "several outputs per thread",
    files: files!("matmul_outputs"),
    chapter: "outputs",
    problem: Problem {
        cases: &[plane([2, 3], [32, 8], &arguments(96, 64, 64))],
        expected: product,
    },
    demands: &[
        ONCE,
        demand(
            Figure::SharedRequests,
            1.1,
            "an element of tile_b that is loaded serves all 4 outputs",
        ),
    ],
};

pub(super) const MATMUL_REGISTERS: Exercise = Exercise {
    name: "matmul_registers",
    part: Part::Matmul,
    teaches: "a block of registers",
    files: files!("matmul_registers"),
    chapter: "register-blocked",
    problem: Problem {
        cases: &[plane([2, 1], [16, 16], &arguments(64, 128, 48))],
        expected: product,
    },
    demands: &[demand(
        Figure::SharedRequests,
        1.1,
        "two loads of 4 elements serve 16 products",
    )],
};

pub(super) const DOUBLE_BUFFER: Exercise = Exercise {
    name: "double_buffer",
    part: Part::Matmul,
    teaches: "two buffers, half of the barriers",
    files: files!("double_buffer"),
    chapter: "double-buffered",
    problem: Problem {
        cases: &[plane([4, 3], [16, 16], &arguments(48, 64, 80))],
        expected: product,
    },
    demands: &[
        ONCE,
        demand(
            Figure::Barriers,
            1.0,
            "one barrier per k-tile is enough where the next tiles have a copy of their own",
        ),
    ],
};

pub(super) const CAPSTONE: Exercise = Exercise {
    name: "capstone",
    part: Part::Matmul,
    teaches: "fewer requests than `register_blocked`",
    files: files!("capstone"),
    chapter: "register-blocked",
    problem: Problem {
        cases: &[plane([1, 2], [128, 1], &arguments(256, 128, 64))],
        expected: product,
    },
    demands: &[
        demand(
            Figure::SharedRequests,
            1.1,
            "24 numbers, which six loads of 16 bytes bring, serve 128 products",
        ),
        demand(
            Figure::Instructions,
            1.1,
            "the loops are to be unrolled, and vectors to bring four numbers at once",
        ),
        NO_CONFLICTS,
    ],
};

const ONCE: Demand = demand(
    Figure::GlobalRequests,
    1.1,
    "each thread is to load one element of each tile from global memory, and the sums none",
);

const NO_CONFLICTS: Demand = demand(
    Figure::Conflicts,
    1.0,
    "neighbouring threads are to write neighbouring elements of the tiles",
);

const fn arguments(m: usize, n: usize, k: usize) -> [Argument; 6] {
    [
        matrix("a", m, k, Holds::Digits),
        matrix("b", k, n, Holds::Digits),
        matrix("c", m, n, Holds::Result),
        Argument::Size(m),
        Argument::Size(n),
        Argument::Size(k),
    ]
}

fn product(given: &Given) -> Vec<f32> {
    let [m, n, k] = [0, 1, 2].map(|index| given.sizes[index]);
    let (a, b) = (&given.arrays[0], &given.arrays[1]);
    let sum = |row: usize, column: usize| {
        let terms = (0..k).map(|i| a[row * k + i] * b[i * n + column]);
        terms.sum()
    };
    (0..m * n).map(|index| sum(index / n, index % n)).collect()
}

//! The kernels of `benches/everyday`, their launches and their inputs.

/// Bytes that a buffer holds before a launch.
#[derive(Clone, Copy)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// f32 from -2 to 2.
    Floats,
    /// f64 from -2 to 2.
    Doubles,
    /// Pairs of f16 from -1 to 1.
    Halves,
    /// Random bits.
    Bits,
    /// Integers below the limit.
    Below(u32),
    /// Where the rows of a sparse matrix begin, with up to this many elements each.
    Starts(u32),
    /// 0 for the first vertex of a graph, -1 for the others.
    Distances,
}

/// An argument of a launch.
#[derive(Clone, Copy)]
pub enum Argument {
    /// The address of a buffer with this number of 4-byte words.
    Buffer(u32, Fill),
    U32(u32),
    F64(f64),
}

use Argument::{Buffer, F64, U32};
use Fill::{Below, Bits, Distances, Doubles, Floats, Halves, Starts, Zero};

/// A launch of a kernel.
pub struct Workload {
    pub kernel: &'static str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub arguments: &'static [Argument],
    /// Whether its PTX was compiled without optimisation.
    pub debug: bool,
}

const fn case(
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: &'static [Argument],
) -> Workload {
    Workload {
        kernel,
        grid,
        block,
        arguments,
        debug: false,
    }
}

/// The longest row of the sparse matrix and of the graph.
const DEGREE: u32 = 24;

/// In the order of the sources. Extents are odd where the kernel takes any.
pub const CASES: [Workload; 23] = [
    case(
        "reduce",
        [16, 1, 1],
        [256, 1, 1],
        &[Buffer(200_003, Floats), Buffer(16, Zero), U32(200_003)],
    ),
    case(
        "softmax",
        [37, 1, 1],
        [128, 1, 1],
        &[
            Buffer(37 * 1021, Floats),
            Buffer(37 * 1021, Zero),
            U32(1021),
        ],
    ),
    case(
        "gelu",
        [79, 1, 1],
        [128, 1, 1],
        &[
            Buffer(40_004, Floats),
            Buffer(193, Floats),
            Buffer(40_004, Zero),
            U32(10_001),
            U32(193),
        ],
    ),
    case(
        "layernorm",
        [26, 1, 1],
        [128, 1, 1],
        &[
            Buffer(101 * 769, Floats),
            Buffer(769, Floats),
            Buffer(769, Floats),
            Buffer(101 * 769, Zero),
            U32(101),
            U32(769),
        ],
    ),
    case(
        "histogram",
        [12, 1, 1],
        [256, 1, 1],
        &[Buffer(25_001, Bits), Buffer(256, Zero), U32(100_003)],
    ),
    case(
        "scan",
        [196, 1, 1],
        [256, 1, 1],
        &[
            Buffer(50_003, Below(1000)),
            Buffer(50_003, Zero),
            U32(50_003),
        ],
    ),
    case(
        "hash",
        [33, 1, 1],
        [128, 1, 1],
        &[
            Buffer(4_099, Bits),
            Buffer(4_099, Zero),
            U32(4_099),
            U32(10_007),
            U32(32),
        ],
    ),
    case(
        "nbody",
        [5, 1, 1],
        [128, 1, 1],
        &[Buffer(4 * 601, Floats), Buffer(4 * 601, Zero), U32(601)],
    ),
    case(
        "halves",
        [79, 1, 1],
        [128, 1, 1],
        &[Buffer(10_001, Halves), Buffer(10_001, Halves), U32(10_001)],
    ),
    case(
        "dp4a",
        [8, 8, 1],
        [16, 16, 1],
        &[
            Buffer(128 * 64, Bits),
            Buffer(128 * 64, Bits),
            Buffer(128 * 128, Zero),
            U32(128),
            U32(64),
        ],
    ),
    case(
        "wmma_gemm",
        [2, 8, 1],
        [128, 1, 1],
        &[
            Buffer(128 * 64, Halves),
            Buffer(128 * 64, Halves),
            Buffer(128 * 128, Zero),
            U32(128),
        ],
    ),
    case(
        "mma_gemm",
        [6, 3, 1],
        [128, 1, 1],
        &[
            Buffer(192 * 96, Halves),
            Buffer(192 * 96, Halves),
            Buffer(192 * 192, Zero),
            U32(192),
        ],
    ),
    case(
        "transpose",
        [11, 10, 1],
        [32, 8, 1],
        &[
            Buffer(347 * 317, Floats),
            Buffer(347 * 317, Zero),
            U32(317),
            U32(347),
        ],
    ),
    case(
        "stencil",
        [12, 50, 1],
        [32, 8, 1],
        &[
            Buffer(373 * 397, Floats),
            Buffer(373 * 397, Zero),
            U32(373),
            U32(397),
        ],
    ),
    case(
        "spmv",
        [24, 1, 1],
        [128, 1, 1],
        &[
            Buffer(3_002, Starts(DEGREE)),
            Buffer(DEGREE * 3_001, Below(3_001)),
            Buffer(DEGREE * 3_001, Floats),
            Buffer(3_001, Floats),
            Buffer(3_001, Zero),
            U32(3_001),
        ],
    ),
    case(
        "bfs",
        [12, 1, 1],
        [128, 1, 1],
        &[
            Buffer(3_002, Starts(DEGREE)),
            Buffer(DEGREE * 3_001, Below(3_001)),
            Buffer(3_001, Distances),
            Buffer(1, Zero),
            U32(3_001),
            U32(0),
        ],
    ),
    case(
        "fft",
        [7, 1, 1],
        [512, 1, 1],
        &[Buffer(2 * 7 * 1024, Floats)],
    ),
    case("sort", [9, 1, 1], [512, 1, 1], &[Buffer(9 * 512, Bits)]),
    case(
        "monte_carlo",
        [5, 1, 1],
        [128, 1, 1],
        &[Buffer(5 * 128, Zero), U32(100), U32(12_345)],
    ),
    case(
        "grey",
        [196, 1, 1],
        [256, 1, 1],
        &[
            Buffer(37_503, Bits),
            Buffer(12_501, Zero),
            Buffer(25_002, Zero),
            U32(50_003),
        ],
    ),
    case(
        "doubles",
        [12, 1, 1],
        [128, 1, 1],
        &[
            Buffer(2 * 30_011, Doubles),
            Buffer(2 * 30_011, Doubles),
            Buffer(2, Zero),
            U32(30_011),
            F64(1.5),
        ],
    ),
    Workload {
        debug: true,
        ..case(
            "layernorm_debug",
            [8, 1, 1],
            [128, 1, 1],
            &[
                Buffer(31 * 257, Floats),
                Buffer(31 * 257, Zero),
                U32(31),
                U32(257),
            ],
        )
    },
    Workload {
        debug: true,
        ..case(
            "tiles_debug",
            [5, 5, 1],
            [16, 16, 1],
            &[
                Buffer(80 * 80, Floats),
                Buffer(80 * 80, Floats),
                Buffer(80 * 80, Zero),
                U32(80),
            ],
        )
    },
];

/// A buffer's bytes.
pub fn filled(words: u32, fill: Fill) -> Vec<u8> {
    let mut state = 0x9e37_79b9u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut from = 0;
    let mut word = |at: u32| match fill {
        Zero => 0,
        Floats => ((random() >> 8) as f32 / (1 << 22) as f32 - 2.0).to_bits(),
        // The upper word of an f64 of an exponent near 0.
        Doubles if at % 2 == 1 => random() & 0x800f_ffff | 0x3fe0_0000,
        Doubles | Bits => random(),
        // Exponents from -8 to -1.
        Halves => random() & 0x9fff_9fff | 0x1c00_1c00,
        Below(limit) => random() % limit,
        Starts(most) => {
            let start = from;
            from += random() % (most + 1);
            start
        }
        Distances if at == 0 => 0,
        Distances => u32::MAX,
    };
    (0..words).flat_map(|at| word(at).to_le_bytes()).collect()
}

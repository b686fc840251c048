//! Mutants that the sanitizers have nothing to say of, and why.

/// Mutants of one kind of several kernels, for one reason.
struct Unreported {
    /// Groups of them.
    kernels: &'static [&'static [&'static str]],
    /// The kind of mutant, and the numbers of those meant, as `mutants` counts them.
    mutants: (&'static str, &'static [usize]),
    #[expect(dead_code, reason = "for the reader")]
    reason: &'static str,
}

/// GEMM by warpgroups: SS, the same with a 16-bit output, both in 2-CTA clusters, and RS.
const FROM_SHARED: &[&str] = &["wgmma_bf16_nn_64", "wgmma_f16_nn_64"];
const TO_NARROW: &[&str] = &["wgmma_bf16_nn_64_to_bf16", "wgmma_f16_nn_64_to_f16"];
const PAIRS: &[&str] = &[
    "wgmma_bf16_nn_pair_64",
    "wgmma_bf16_nt_pair_64",
    "wgmma_f16_nn_pair_64",
    "wgmma_f16_nt_pair_64",
];
const PAIRS_TO_NARROW: &[&str] = &[
    "wgmma_bf16_nn_pair_64_to_bf16",
    "wgmma_bf16_nt_pair_64_to_bf16",
    "wgmma_f16_nn_pair_64_to_f16",
    "wgmma_f16_nt_pair_64_to_f16",
];
/// The split-K reduction kernel.
const ADD_PARTS: &[&str] = &["add_parts_f32", "add_parts_f16", "add_parts_bf16"];
const THROUGH_REGISTERS: &[&str] = &["wgmma_tf32_nn_64"];

/// Mutants that are right all the same.
const EQUIVALENT: &[Unreported] = &[
    Unreported {
        kernels: &[&["dgemm_90_64x64_nn"]],
        mutants: ("guard", &[4]),
        reason: "Whether rows of C are aligned: to store element by element is right for all.",
    },
    Unreported {
        kernels: &[&["sgemm_32x64_nn"]],
        mutants: ("guard", &[11]),
        reason: "Whether rows of C are aligned: to store element by element is right for all.",
    },
    Unreported {
        kernels: &[&["sgemm_32x64_nn"]],
        mutants: ("guard", &[9, 10]),
        reason: "Whether the epilogue stores from registers or through shared memory: both are right.",
    },
    Unreported {
        kernels: &[&["sgemm_32x64_nn"]],
        mutants: ("barrier", &[10]),
        reason: "The last barrier of a warp, behind which it accesses shared memory no more.",
    },
    Unreported {
        kernels: &[
            FROM_SHARED,
            TO_NARROW,
            PAIRS,
            PAIRS_TO_NARROW,
            THROUGH_REGISTERS,
        ],
        mutants: ("guard", &[3]),
        reason: "Whether rows of A are to be cleared: of none that are left out, none is.",
    },
];

/// Mutants that are bugs at other sizes than those that are tried.
const ELSEWHERE: &[Unreported] = &[
    Unreported {
        kernels: &[&["dgemm_90_64x64_nn"]],
        mutants: ("barrier", &[1]),
        reason: "The barrier of the warp before one lane releases a stage: work units fill each stage once here.",
    },
    Unreported {
        kernels: &[&["dgemm_90_64x64_nn"]],
        mutants: ("arrival", &[2]),
        reason: "The arrival that gives a stage back: the same.",
    },
    Unreported {
        kernels: &[PAIRS],
        mutants: ("barrier", &[1, 3]),
        reason: "The barrier before an epilogue tile is written again: blocks have one tile here, and use each epilogue tile once.",
    },
    Unreported {
        kernels: &[PAIRS_TO_NARROW],
        mutants: ("barrier", &[1]),
        reason: "The same: a tile is one box.",
    },
    Unreported {
        kernels: &[THROUGH_REGISTERS],
        mutants: ("barrier", &[7, 9]),
        reason: "The same.",
    },
    Unreported {
        kernels: &[THROUGH_REGISTERS],
        mutants: ("barrier", &[3]),
        reason: "The barrier of the warp before one lane releases a tile's last stage: blocks \
            have one tile here, and load no more.",
    },
    Unreported {
        kernels: &[THROUGH_REGISTERS],
        mutants: ("guard", &[26]),
        reason: "Whether a work unit is of a stream-K tile: blocks with such a one have no data-parallel tiles here.",
    },
    Unreported {
        kernels: &[FROM_SHARED],
        mutants: ("guard", &[91]),
        reason: "Whether a work unit has an odd number of k-tiles: blocks have one work unit here, and no warp waits for a stage too many.",
    },
    Unreported {
        kernels: &[TO_NARROW],
        mutants: ("guard", &[90]),
        reason: "The same.",
    },
    Unreported {
        kernels: &[&["pack_transposed_16"]],
        mutants: ("barrier", &[0]),
        reason: "The barrier before the tile in shared memory is written again: blocks have one \
            tile here.",
    },
    Unreported {
        kernels: &[&["pack_transposed_16"]],
        mutants: ("guard", &[1]),
        reason: "Whether a column is read: the element behind a row is one of the next row, unless \
            that is the last, and is not written.",
    },
    Unreported {
        kernels: &[ADD_PARTS],
        mutants: ("guard", &[21]),
        reason: "Whether the second of a pair is in C: rows that are stored by pairs have an even \
            number of elements here.",
    },
    Unreported {
        kernels: &[FROM_SHARED, TO_NARROW],
        mutants: ("arrival", &[1]),
        reason: "The arrival that gives a chain's last stage back: blocks have one chain here, and \
            fetch no more.",
    },
    Unreported {
        kernels: &[THROUGH_REGISTERS],
        mutants: ("arrival", &[1]),
        reason: "The same of a tile.",
    },
    Unreported {
        kernels: &[&["wgmma_bf16_persistent"]],
        mutants: ("arrival", &[4]),
        reason: "The same of a tile.",
    },
];

/// Kernel and mutant.
pub fn all() -> impl Iterator<Item = (&'static str, String)> {
    EQUIVALENT.iter().chain(ELSEWHERE).flat_map(|entry| {
        let (kind, numbers) = entry.mutants;
        entry.kernels.concat().into_iter().flat_map(move |kernel| {
            let names = numbers.iter().map(move |number| format!("{kind} {number}"));
            names.map(move |name| (kernel, name))
        })
    })
}

//! Mutants that the sanitizers have nothing to say of, and why.

/// Mutants of one kind of several kernels, for one reason.
struct Unreported {
    kernels: &'static [&'static str],
    /// The kind of mutant, and the numbers of those meant, as `mutants` counts them.
    mutants: (&'static str, &'static [usize]),
    #[expect(dead_code, reason = "for the reader")]
    reason: &'static str,
}

/// Mutants that are right all the same.
const EQUIVALENT: &[Unreported] = &[
    Unreported {
        kernels: &["dgemm_90_128x128_nn"],
        mutants: ("guard", &[6]),
        reason: "Whether rows of C are aligned: to store element by element is right for all.",
    },
    Unreported {
        kernels: &["dgemm_90_64x64_nn"],
        mutants: ("guard", &[5]),
        reason: "Whether rows of C are aligned: to store element by element is right for all.",
    },
    Unreported {
        kernels: &["sgemm_32x64_nn"],
        mutants: ("guard", &[8]),
        reason: "Whether rows of C are aligned: to store element by element is right for all.",
    },
    Unreported {
        kernels: &["sgemm_32x64_nn"],
        mutants: ("guard", &[6, 7]),
        reason: "Whether C is stored from registers or through shared memory: both are right.",
    },
    Unreported {
        kernels: &["sgemm_32x64_nn"],
        mutants: ("barrier", &[10]),
        reason: "The last barrier of a warp, behind which it accesses shared memory no more.",
    },
];

/// Mutants that are bugs, and that no sanitizer sees: the race checker takes everything that a warp did before one of its
/// lanes arrives at an mbarrier for done, and everything before any arrival for seen by whoever waits at any mbarrier.
const MISSED: &[Unreported] = &[
    Unreported {
        kernels: &[
            "dgemm_90_128x128_nn",
            "dgemm_90_128x128_nn_elements",
            "dgemm_90_64x64_nn",
            "sgemm_32x64_nn",
            "wgmma_bf16_n64",
            "wgmma_bf16_single",
            "wgmma_f16_n64",
        ],
        mutants: ("barrier", &[0]),
        reason: "The barrier behind mbarrier.init: other threads may use the mbarrier before it is one.",
    },
    Unreported {
        kernels: &[
            "dgemm_90_128x128_nn",
            "dgemm_90_128x128_nn_elements",
            "dgemm_90_64x64_nn",
            "sgemm_32x64_nn",
        ],
        mutants: ("barrier", &[1]),
        reason: "The barrier of the warp before one lane arrives for all: lanes may still read the stage.",
    },
    Unreported {
        kernels: &["sgemm_32x64_nn"],
        mutants: ("barrier", &[2]),
        reason: "The barrier before C goes through the stages: other warps may still read the last one.",
    },
];

/// Kernel and mutant.
pub fn all() -> impl Iterator<Item = (&'static str, String)> {
    EQUIVALENT.iter().chain(MISSED).flat_map(|entry| {
        let (kind, numbers) = entry.mutants;
        entry.kernels.iter().flat_map(move |&kernel| {
            let names = numbers.iter().map(move |number| format!("{kind} {number}"));
            names.map(move |name| (kernel, name))
        })
    })
}

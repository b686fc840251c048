//! Fragments of the chapters on transposes, Wolfe's kernels, tensor cores and tools.

use super::Of::{
    self, Compared, Console, Counters, CountersOfTwo, Debugged, Excerpt, FirstMinutes, Measured,
    MeasuredIn, Predicted, Ptx, SomeSources, Sources,
};
use super::cube;

pub const FRAGMENTS: &[(&str, Of)] = &[
    ("first-minutes-80.md", FirstMinutes(80)),
    ("first-minutes-120.md", FirstMinutes(120)),
    ("transpose-sources.md", Sources("003", "transposes")),
    (
        "transpose-shared.md",
        Counters(&["transpose_naive", "transpose_coalesced"], cube(256)),
    ),
    (
        "transpose-shared-measured.md",
        Measured(&["copy", "transpose_naive", "transpose_coalesced"]),
    ),
    (
        "transpose-shared-lines.md",
        Excerpt(
            "warpladder profile transpose_coalesced --shape 64",
            " line ",
            None,
        ),
    ),
    (
        "transpose-padded.md",
        Counters(
            &[
                "transpose_coalesced",
                "transpose_padded",
                "transpose_swizzled",
            ],
            cube(256),
        ),
    ),
    (
        "transpose-padded-measured.md",
        Measured(&[
            "transpose_coalesced",
            "transpose_padded",
            "transpose_swizzled",
            "copy",
        ]),
    ),
    (
        "transpose-fast.md",
        Counters(
            &[
                "transpose_swizzled",
                "transpose_fast",
                "transpose_fast_f64",
                "transpose_fast_f16",
            ],
            cube(256),
        ),
    ),
    (
        "transpose-fast-measured.md",
        Measured(&[
            "copy",
            "transpose_swizzled",
            "transpose_fast",
            "transpose_fast_f64",
            "transpose_fast_f16",
        ]),
    ),
    (
        "transpose-fast-compared.md",
        Compared("compare-transpose.json"),
    ),
    ("cpu-sources.md", Sources("004", "products on the CPU")),
    (
        "wolfe-k1.md",
        Counters(
            &[
                "wolfe_ks",
                "wolfe_k1_inverted",
                "wolfe_k1_w32",
                "wolfe_k1_w256",
            ],
            cube(256),
        ),
    ),
    (
        "wolfe-k1-measured.md",
        Measured(&[
            "wolfe_ks",
            "wolfe_k1_inverted",
            "wolfe_k1_w32",
            "wolfe_k1_w64",
            "wolfe_k1_w128",
            "wolfe_k1_w256",
        ]),
    ),
    (
        "wolfe-k1-sources.md",
        SomeSources(
            "004",
            "the series",
            &[
                "wolfe_ks",
                "wolfe_k1_inverted",
                "wolfe_k1_w32",
                "wolfe_k1_w64",
                "wolfe_k1_w128",
                "wolfe_k1_w256",
            ],
        ),
    ),
    (
        "wolfe-k2.md",
        Counters(
            &["wolfe_k1_w64", "wolfe_k2_w64", "wolfe_k2_w64_k2"],
            cube(256),
        ),
    ),
    (
        "wolfe-k2-measured.md",
        Measured(&[
            "wolfe_k1_w32",
            "wolfe_k2_w32",
            "wolfe_k2_w64",
            "wolfe_k2_w128",
            "wolfe_k2_w64_k2",
        ]),
    ),
    (
        "wolfe-k2-sources.md",
        SomeSources(
            "004",
            "the series",
            &[
                "wolfe_k2_w32",
                "wolfe_k2_w64",
                "wolfe_k2_w128",
                "wolfe_k2_w64_k2",
            ],
        ),
    ),
    (
        "wolfe-k3.md",
        Counters(
            &["wolfe_k2_w32", "wolfe_k3_w32_i2", "wolfe_k3_w32_i4"],
            cube(256),
        ),
    ),
    (
        "wolfe-k3-measured.md",
        Measured(&[
            "wolfe_k2_w32",
            "wolfe_k3_w32_i2",
            "wolfe_k3_w32_i4",
            "wolfe_k3_w64_i2",
        ]),
    ),
    (
        "wolfe-k3-sources.md",
        SomeSources(
            "004",
            "the series",
            &["wolfe_k3_w32_i2", "wolfe_k3_w32_i4", "wolfe_k3_w64_i2"],
        ),
    ),
    (
        "wolfe-k4.md",
        Counters(
            &[
                "wolfe_k3_w32_i2",
                "wolfe_k4_w32_j2",
                "wolfe_k4_w128_j4",
                "wolfe_k4_w128_j4_k4",
            ],
            cube(256),
        ),
    ),
    (
        "wolfe-k4-measured.md",
        Measured(&[
            "wolfe_k3_w32_i2",
            "wolfe_k4_w32_j2",
            "wolfe_k4_w64_j2",
            "wolfe_k4_w128_j2",
            "wolfe_k4_w128_j4",
            "wolfe_k4_w128_j4_k2",
            "wolfe_k4_w128_j4_k4",
        ]),
    ),
    (
        "wolfe-k4-sources.md",
        SomeSources(
            "004",
            "the series",
            &[
                "wolfe_k4_w32_j2",
                "wolfe_k4_w64_j2",
                "wolfe_k4_w128_j2",
                "wolfe_k4_w128_j4",
                "wolfe_k4_w128_j4_k2",
                "wolfe_k4_w128_j4_k4",
            ],
        ),
    ),
    (
        "wolfe-k4-guarded.md",
        Counters(&["wolfe_k4_w32_j2", "wolfe_k4_guarded"], cube(256)),
    ),
    (
        "wolfe-k4-guarded-measured.md",
        Measured(&["wolfe_k4_w32_j2", "wolfe_k4_guarded"]),
    ),
    (
        "wolfe-k5.md",
        Counters(&["wolfe_k4_w128_j4_k4", "wolfe_k5"], cube(256)),
    ),
    (
        "wolfe-k5-measured.md",
        Measured(&["wolfe_k4_w128_j4_k4", "wolfe_k5", "tiled_16"]),
    ),
    (
        "wolfe-k5-sources.md",
        SomeSources("004", "the series", &["wolfe_k5"]),
    ),
    (
        "mma.md",
        Counters(&["register_blocked", "mma_bf16", "mma_tf32"], cube(256)),
    ),
    (
        "mma-measured.md",
        Measured(&["sgemm", "mma_f16", "mma_bf16", "mma_tf32"]),
    ),
    (
        "mma-general.md",
        CountersOfTwo(
            &[
                "mma_bf16",
                "gemm_mma_bf16",
                "gemm_mma_bf16_narrow",
                "gemm_mma_tf32",
                "gemm_f32_split",
            ],
            cube(256),
        ),
    ),
    (
        "mma-general-predicted.md",
        Predicted(
            &[
                "mma_bf16",
                "gemm_mma_bf16",
                "gemm_mma_bf16_narrow",
                "gemm_mma_tf32",
            ],
            cube(4096),
        ),
    ),
    (
        "wgmma.md",
        Counters(&["mma_bf16", "wgmma_bf16_single"], cube(256)),
    ),
    (
        "wgmma-measured.md",
        Measured(&["mma_bf16", "wgmma_bf16_single"]),
    ),
    (
        "wgmma-persistent.md",
        Counters(
            &[
                "wgmma_bf16_single",
                "wgmma_bf16_specialised",
                "wgmma_bf16_persistent",
            ],
            cube(256),
        ),
    ),
    (
        "wgmma-persistent-measured.md",
        Measured(&[
            "wgmma_bf16_single",
            "wgmma_bf16_specialised",
            "wgmma_bf16_persistent",
        ]),
    ),
    (
        "wgmma-steps.md",
        CountersOfTwo(
            &[
                "wgmma_bf16_persistent",
                "wgmma_bf16_tma_store",
                "wgmma_bf16_multicast",
                "wgmma_bf16_stream_k",
            ],
            cube(512),
        ),
    ),
    (
        "wgmma-steps-measured.md",
        Measured(&[
            "wgmma_bf16_persistent",
            "wgmma_bf16_tma_store",
            "wgmma_bf16_multicast",
            "wgmma_bf16_stream_k",
        ]),
    ),
    (
        "wgmma-steps-stream-k-measured.md",
        MeasuredIn(
            "run-1536x3072x4096.json",
            &["wgmma_bf16_multicast", "wgmma_bf16_stream_k"],
        ),
    ),
    (
        "wgmma-general.md",
        CountersOfTwo(&["wgmma_bf16_stream_k", "wgmma_bf16"], cube(512)),
    ),
    (
        "wgmma-narrow.md",
        CountersOfTwo(&["wgmma_bf16", "wgmma_bf16_narrow"], cube(512)),
    ),
    (
        "wgmma-general-measured.md",
        Measured(&[
            "wgmma_bf16_stream_k",
            "wgmma_bf16",
            "wgmma_f16",
            "wgmma_tf32",
            "wgmma_bf16_narrow",
            "wgmma_f16_narrow",
        ]),
    ),
    ("wgmma-general-compared.md", Compared("compare-wgmma.json")),
    (
        "debug-step.md",
        Debugged(
            "warpladder debug examples/axpy.ptx axpy --grid 2 --block 64 --arg f32[100]=iota --arg \
                f32[100]=1 --arg f32:2 --arg u32:100",
            &["list", "stepi 5", "print %tid.x", "info registers", "quit"],
        ),
    ),
    (
        "debug-deadlock.md",
        Debugged(
            "warpladder debug tests/broken/ptx/broken_sm_70.ptx deadlock --block 32 --arg \
                u32[32]=none",
            &[
                "run",
                "info warps",
                "info barriers",
                "lane 20",
                "list",
                "quit",
            ],
        ),
    ),
    (
        "debug-race.md",
        Debugged(
            "warpladder debug tests/broken/ptx/broken_sm_70.ptx missing_first_barrier --grid 3,3 \
                --block 16,16 --arg f32[48,48]=1 --arg f32[48,48]=1 --arg f32[48,48]=none --arg \
                u32:48",
            &["run", "info warps", "print shared[0..40]", "list", "quit"],
        ),
    ),
    (
        "debug-index.md",
        Debugged(
            "warpladder debug tests/broken/ptx/broken_sm_70.ptx guard_off_by_one --grid 3 --block \
                32 --arg f32[64]=1 --arg f32[64]=none --arg u32:64",
            &[
                "run",
                "print %ctaid.x",
                "info registers",
                "info launch",
                "quit",
            ],
        ),
    ),
    (
        "races-first.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx missing_first_barrier --grid 3,3 \
                --block 16,16 --arg f32[48,48]=1 --arg f32[48,48]=1 --arg f32[48,48]=none --arg u32:48 --sanitize",
        ),
    ),
    (
        "races-second.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx missing_second_barrier --grid \
                3,3 --block 16,16 --arg f32[48,48]=1 --arg f32[48,48]=1 --arg f32[48,48]=none --arg u32:48 --sanitize",
        ),
    ),
    (
        "races-warp.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx missing_warp_barrier --block 32 \
                --arg u32[32]=none --sanitize",
        ),
    ),
    (
        "races-blocks.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx missing_block_offset --grid 2 \
                --block 32 --arg u32[32]=none --sanitize",
        ),
    ),
    (
        "races-histogram.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx plain_histogram --grid 2 --block \
                64 --arg u32[128]=1 --arg u32[8]=zero --sanitize --workers 1",
        ),
    ),
    (
        "races-sound.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx sound_histogram --grid 2 --block \
                64 --arg u32[128]=1 --arg u32[8]=zero --sanitize",
        ),
    ),
    (
        "races-bounds.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx guard_off_by_one --grid 3 \
                --block 32 --arg f32[64]=1 --arg f32[64]=none --arg u32:64 --sanitize",
        ),
    ),
    (
        "races-uninitialised.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx uninitialised_tail --block 64 \
                --arg f32[40]=1 --arg f32[40]=none --arg u32:40 --sanitize",
        ),
    ),
    (
        "divergence-barrier.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx barrier_in_divergent_code \
                --block 32 --arg u32[32]=none --sanitize",
        ),
    ),
    (
        "divergence-deadlock.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx deadlock --block 32 --arg \
                u32[32]=none --sanitize",
        ),
    ),
    (
        "divergence-shuffle.md",
        Console(
            "warpladder emulate tests/broken/ptx/broken_sm_70.ptx shuffle_from_inactive_lanes \
                --block 32 --arg u32[32]=none --sanitize",
        ),
    ),
    (
        "divergence.md",
        Counters(&["tiled_16", "tiled_guarded_16"], cube(96)),
    ),
    (
        "divergence-awkward.md",
        Counters(&["tiled_guarded_16"], cube(100)),
    ),
    ("ptx-head.md", Ptx("kernels_sm_70", "naive", ".entry", "{")),
    (
        "ptx-index.md",
        Ptx("kernels_sm_70", "naive", "%ctaid.x", "bra"),
    ),
    (
        "ptx-loop.md",
        Ptx("kernels_sm_70", "naive", "ld.global.nc.b32", "bra"),
    ),
    (
        "ptx-tiled.md",
        Ptx("kernels_sm_70", "tiled_16", "bar.sync", "bar.sync"),
    ),
];

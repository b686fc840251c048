//! Fragments of the chapters on models, products and matrix-vector kernels.

use super::Of::{
    self, Calibrated, Compared, Console, Counters, CountersOfTwo, Excerpt, Measured, Sources,
    Sweeps,
};
use super::cube;

pub const FRAGMENTS: &[(&str, Of)] = &[
    (
        "levels.md",
        Calibrated(&[
            ("latency_fp32", "multiply-add, f32: latency"),
            ("rate_fp32", "multiply-adds, f32: rate of a multiprocessor"),
            (
                "shared_read",
                "shared memory: bandwidth of a multiprocessor",
            ),
            ("latency_shared", "load from shared memory: latency"),
            ("latency_l1", "load from the L1 cache: latency"),
            ("latency_l2", "load from the L2 cache: latency"),
            ("latency_dram", "load from DRAM: latency"),
            ("l2_read", "L2 cache: bandwidth"),
            ("dram_read", "DRAM: bandwidth"),
            ("launch", "a launch"),
        ]),
    ),
    (
        "profile-naive.md",
        Console("warpladder profile naive --shape 64"),
    ),
    (
        "predict-tiled.md",
        Console("warpladder predict tiled_16 --device H200 --shape 4096"),
    ),
    ("naive.md", Counters(&["naive", "naive_f64"], cube(256))),
    ("naive-measured.md", Measured(&["naive", "naive_f64"])),
    (
        "naive-uncoalesced.md",
        Counters(
            &[
                "naive",
                "naive_uncoalesced",
                "naive_f64",
                "naive_uncoalesced_f64",
            ],
            cube(256),
        ),
    ),
    (
        "naive-uncoalesced-lines.md",
        Excerpt(
            "warpladder profile naive_uncoalesced --shape 64",
            " line ",
            Some("left out"),
        ),
    ),
    (
        "naive-uncoalesced-measured.md",
        Measured(&["naive", "naive_uncoalesced", "naive_uncoalesced_f64"]),
    ),
    (
        "tiled.md",
        Counters(&["naive", "tiled_16", "tiled_32"], cube(256)),
    ),
    (
        "tiled-measured.md",
        Measured(&["naive", "tiled_16", "tiled_32"]),
    ),
    ("tiled-sources.md", Sources("001", "what tiles do")),
    (
        "guarded.md",
        Counters(
            &["tiled_16", "tiled_guarded_16", "tiled_guarded_32"],
            cube(256),
        ),
    ),
    (
        "guarded-awkward.md",
        Counters(&["tiled_guarded_16", "tiled_guarded_32"], cube(100)),
    ),
    (
        "guarded-measured.md",
        Measured(&[
            "tiled_16",
            "tiled_guarded_16",
            "tiled_32",
            "tiled_guarded_32",
        ]),
    ),
    (
        "outputs.md",
        Counters(
            &["outputs_1", "outputs_2", "outputs_4", "outputs_8"],
            cube(256),
        ),
    ),
    (
        "outputs-measured.md",
        Measured(&["outputs_1", "outputs_2", "outputs_4", "outputs_8"]),
    ),
    ("outputs-sources.md", Sources("000", "more outputs")),
    (
        "roofline-sources.md",
        Sources("000", "naive and tiled products"),
    ),
    (
        "roofline-levels.md",
        Excerpt(
            "warpladder explain tiled_16 --device H200 --shape 4096 --markdown",
            "| level",
            Some("The peak"),
        ),
    ),
    (
        "roofline-predict.md",
        Console("warpladder predict outputs_8 --device H200 --shape 4096"),
    ),
    (
        "occupancy.md",
        Excerpt(
            "warpladder predict tiled_32 --device H200 --shape 4096",
            "",
            Some(" bound"),
        ),
    ),
    (
        "register-blocked.md",
        Counters(
            &[
                "outputs_8",
                "outputs_8x8",
                "outputs_8x8_vec4",
                "register_blocked",
            ],
            cube(256),
        ),
    ),
    (
        "register-blocked-measured.md",
        Measured(&[
            "outputs_8",
            "outputs_8x8",
            "outputs_8x8_vec4",
            "register_blocked",
        ]),
    ),
    (
        "double-buffered.md",
        Counters(&["register_blocked", "double_buffered"], cube(256)),
    ),
    (
        "double-buffered-measured.md",
        Measured(&["register_blocked", "double_buffered"]),
    ),
    (
        "cp-async.md",
        Counters(&["double_buffered", "cp_async"], cube(256)),
    ),
    (
        "cp-async-measured.md",
        Measured(&["register_blocked", "double_buffered", "cp_async"]),
    ),
    ("sgemm.md", CountersOfTwo(&["cp_async", "sgemm"], cube(512))),
    ("sgemm-measured.md", Measured(&["cp_async", "sgemm"])),
    ("sgemm-compared.md", Compared("compare-sgemm.json")),
    (
        "dgemm-measured.md",
        Measured(&[
            "naive_uncoalesced_f64",
            "naive_f64",
            "tiled_16_f64",
            "tiled_32_f64",
            "dgemm",
        ]),
    ),
    (
        "dgemm.md",
        Counters(
            &["naive_f64", "tiled_16_f64", "tiled_32_f64", "dgemm"],
            cube(256),
        ),
    ),
    ("dgemm-compared.md", Compared("compare-dgemm.json")),
    (
        "volkov.md",
        Counters(
            &["outputs_8", "volkov_sgemm", "register_blocked"],
            cube(256),
        ),
    ),
    (
        "volkov-measured.md",
        Measured(&["outputs_8", "volkov_sgemm", "register_blocked"]),
    ),
    ("volkov-sources.md", Sources("000", "registers before")),
    (
        "latency-copies.md",
        Counters(
            &[
                "copy_1",
                "copy_2",
                "copy_4",
                "copy_8",
                "copy_vec2",
                "copy_vec4",
            ],
            cube(256),
        ),
    ),
    (
        "latency-copies-measured.md",
        Measured(&[
            "copy_1",
            "copy_2",
            "copy_4",
            "copy_8",
            "copy_vec2",
            "copy_vec4",
        ]),
    ),
    (
        "latency-chains.md",
        Counters(
            &["fma_ilp_1", "fma_ilp_2", "fma_ilp_3", "fma_ilp_4"],
            cube(64),
        ),
    ),
    (
        "latency-chains-measured.md",
        Measured(&["fma_ilp_1", "fma_ilp_2", "fma_ilp_3", "fma_ilp_4"]),
    ),
    (
        "latency-chains-sources.md",
        Sources("000", "hiding arithmetic latency"),
    ),
    ("latency-sweep.md", Sweeps(&["add_one"])),
    (
        "matvec-lcs.md",
        Counters(
            &[
                "matvec_lcs_4",
                "matvec_lcs",
                "matvec_lcs_32",
                "matvec_lcs_any",
            ],
            cube(256),
        ),
    ),
    (
        "matvec-lcs-measured.md",
        Measured(&[
            "matvec_lcs_4",
            "matvec_lcs_8",
            "matvec_lcs_12",
            "matvec_lcs",
            "matvec_lcs_20",
            "matvec_lcs_24",
            "matvec_lcs_28",
            "matvec_lcs_32",
            "matvec_lcs_any",
        ]),
    ),
    ("matvec-lcs-sweep.md", Sweeps(&["matvec_lcs"])),
    (
        "matvec-interleaved.md",
        Counters(&["matvec_lcs", "matvec_interleaved"], cube(256)),
    ),
    (
        "matvec-interleaved-measured.md",
        Measured(&[
            "matvec_lcs",
            "matvec_interleaved_4",
            "matvec_interleaved_8",
            "matvec_interleaved_12",
            "matvec_interleaved",
            "matvec_interleaved_20",
            "matvec_interleaved_24",
            "matvec_interleaved_28",
            "matvec_interleaved_32",
            "matvec_interleaved_any",
        ]),
    ),
    (
        "matvec-interleaved-sweep.md",
        Sweeps(&["matvec_lcs", "matvec_interleaved"]),
    ),
    (
        "matvec-thread-per-element.md",
        Counters(&["matvec_lcs", "matvec_thread_per_element"], cube(256)),
    ),
    (
        "matvec-thread-per-element-measured.md",
        Measured(&[
            "matvec_lcs",
            "matvec_thread_per_element_4",
            "matvec_thread_per_element_8",
            "matvec_thread_per_element_12",
            "matvec_thread_per_element",
            "matvec_thread_per_element_20",
            "matvec_thread_per_element_24",
            "matvec_thread_per_element_28",
            "matvec_thread_per_element_32",
            "matvec_thread_per_element_any",
        ]),
    ),
    (
        "matvec-constant.md",
        Calibrated(&[
            ("constant_stride_0_of_1024", "all lanes want one address"),
            ("constant_stride_4_of_16", "4 addresses"),
            ("constant_stride_8_of_64", "8 addresses"),
            ("constant_stride_16_of_256", "16 addresses"),
            ("constant_stride_32_of_1024", "32 addresses"),
        ]),
    ),
    (
        "matvec-fast.md",
        Counters(&["matvec_lcs", "matvec_fast"], cube(256)),
    ),
    (
        "matvec-fast-measured.md",
        Measured(&[
            "matvec_lcs",
            "matvec_interleaved",
            "matvec_thread_per_element",
            "matvec_fast",
        ]),
    ),
    (
        "transpose-naive.md",
        Counters(&["copy", "transpose_naive"], cube(256)),
    ),
    (
        "transpose-naive-measured.md",
        Measured(&["copy", "transpose_naive"]),
    ),
];

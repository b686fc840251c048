//! Everything in the book that is output: file in `book/src/generated`, and what writes it.

use super::{chapters, counters, read, results, terminal};
use rayon::prelude::*;
use warpladder_lab::problem::Shape;

/// What writes a fragment.
#[derive(Clone, Copy)]
pub enum Of {
    /// What kernels do to the machine at this size, a column for each.
    Counters(&'static [&'static str], Shape),
    /// The same of kernels that plan by the number of multiprocessors, for two of them.
    CountersOfTwo(&'static [&'static str], Shape),
    /// Times on the H200, with predictions.
    Measured(&'static [&'static str]),
    /// Figures of a source, by its number, and of one of its groups, by the beginning of its name.
    Sources(&'static str, &'static str),
    /// The same, of these kernels alone.
    SomeSources(&'static str, &'static str, &'static [&'static str]),
    /// Sweeps over warps.
    Sweeps(&'static [&'static str]),
    /// A file of comparisons.
    Compared(&'static str),
    /// Figures of the calibration: name, and what it is.
    Calibrated(&'static [(&'static str, &'static str)]),
    /// A command, and what it prints.
    Console(&'static str),
    /// The same, from the line that begins so to before the one that begins so.
    Excerpt(&'static str, &'static str, Option<&'static str>),
    /// PTX of a module and a kernel, from the line that contains this to the one that contains
    /// that.
    Ptx(&'static str, &'static str, &'static str, &'static str),
}

const fn cube(size: u32) -> Shape {
    Shape {
        m: size,
        n: size,
        k: size,
    }
}

use Of::*;

/// The fragments, by chapter.
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
        Console("warpladder profile naive --size 64"),
    ),
    (
        "predict-tiled.md",
        Console("warpladder predict tiled_16 --device H200 --size 4096"),
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
            "warpladder profile naive_uncoalesced --size 64",
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
            "warpladder explain tiled_16 --device H200 --size 4096",
            "| level",
            Some("The peak"),
        ),
    ),
    (
        "roofline-predict.md",
        Console("warpladder predict outputs_8 --device H200 --size 4096"),
    ),
    (
        "occupancy.md",
        Excerpt(
            "warpladder predict tiled_32 --device H200 --size 4096",
            "",
            Some(" bound"),
        ),
    ),
    (
        "register-blocked.md",
        Counters(&["outputs_8", "register_blocked"], cube(256)),
    ),
    (
        "register-blocked-measured.md",
        Measured(&["outputs_8", "register_blocked"]),
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
            "warpladder profile transpose_coalesced --size 64",
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
        "wgmma-general.md",
        CountersOfTwo(&["wgmma_bf16_persistent", "wgmma_bf16"], cube(512)),
    ),
    (
        "wgmma-narrow.md",
        CountersOfTwo(&["wgmma_bf16", "wgmma_bf16_narrow"], cube(512)),
    ),
    (
        "wgmma-general-measured.md",
        Measured(&[
            "wgmma_bf16_persistent",
            "wgmma_bf16",
            "wgmma_f16",
            "wgmma_tf32",
            "wgmma_bf16_narrow",
            "wgmma_f16_narrow",
        ]),
    ),
    ("wgmma-general-compared.md", Compared("compare-wgmma.json")),
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
                64 --arg u32[128]=1 --arg u32[8]=zero --sanitize",
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

fn text(of: Of) -> String {
    match of {
        Counters(kernels, shape) => counters::counters(kernels, shape, None),
        CountersOfTwo(kernels, shape) => counters::counters(kernels, shape, Some(2)),
        Measured(kernels) => results::measured(kernels),
        Sources(source, group) => results::sources(source, group, None),
        SomeSources(source, group, kernels) => results::sources(source, group, Some(kernels)),
        Sweeps(kernels) => results::sweeps(kernels),
        Compared(file) => results::compared(file),
        Calibrated(names) => results::calibrated(names),
        Console(command) => terminal::console(command, "", None),
        Excerpt(command, from, until) => terminal::console(command, from, until),
        Ptx(module, kernel, from, until) => terminal::ptx(module, kernel, from, until),
    }
}

#[test]
fn the_output_is_that_of_now() {
    let folder = chapters().join("generated");
    let update = std::env::var_os("WARPLADDER_UPDATE").is_some();
    FRAGMENTS.par_iter().for_each(|(file, of)| {
        let path = folder.join(file);
        let now = text(*of);
        if update {
            std::fs::write(&path, now).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        } else {
            assert_eq!(
                read(&path),
                now,
                "{file}: run `WARPLADDER_UPDATE=1 cargo test --test book`, and look at what changed"
            );
        }
    });
}

#[test]
fn there_is_no_other_output() {
    for entry in std::fs::read_dir(chapters().join("generated")).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let known = FRAGMENTS.iter().any(|(file, _)| name == *file);
        assert!(known, "nothing writes {name:?}");
    }
}

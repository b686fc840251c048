//! `warpladder reproduce`: the sources' figures are all there, and each stands beside a measured
//! one.

use serde_json::Value;
use std::process::{Command, Output};
use warpladder::device::ComputeCapability;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::launch::{DevicePtr, KernelId, Launch, MatrixMap, TENSOR_MAP_BYTES};
use warpladder_lab::problem::Shape;
use warpladder_lab::reproduce::{self, Bench, Source, StepVerdict, Unit};

fn warpladder(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpladder"))
        .arg("reproduce")
        .args(args)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

/// The rows of a source on the emulator, at a small size that its rungs take.
fn rows(source: &str, size: &str) -> Vec<Value> {
    let output = warpladder(&[
        "--engine", "emulator", "--source", source, "--shape", size, "--reps", "1", "--json", "-",
    ]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let rows = super::records(&output.stdout);
    every_figure_has_a_line(source, &rows, &text);
    assert!(
        text.trim_end()
            .ends_with(&format!("all {} checks passed", rows.len())),
        "{text}"
    );
    rows
}

/// Each figure of the data has its words on a line of the text, in the order of the data, and its
/// value in the JSON.
fn every_figure_has_a_line(source: &str, rows: &[Value], text: &str) {
    let source = Source::ALL
        .into_iter()
        .find(|s| s.title().starts_with(source))
        .unwrap();
    let entries: Vec<_> = source
        .groups()
        .iter()
        .flat_map(|group| group.entries)
        .collect();
    assert_eq!(rows.len(), entries.len());
    let mut lines = text.lines();
    for (entry, row) in entries.iter().zip(rows) {
        assert_eq!(row["rung"], entry.rung);
        assert_eq!(row["ok"], true, "{row}");
        let there = row["there"].as_array().unwrap();
        assert_eq!(there.len(), entry.figures.len());
        for (figure, there) in entry.figures.iter().zip(there) {
            assert_eq!(there["value"], figure.value);
            let line =
                lines.find(|line| line.contains(&figure.to_string()) && line.contains(figure.kind));
            assert!(
                line.is_some(),
                "{}: no line for {figure}, {}\n{text}",
                entry.rung,
                figure.kind
            );
        }
        let here = row["here"].as_array().unwrap();
        assert!(
            !here.is_empty() && here.iter().all(|here| here["value"].is_f64()),
            "{row}"
        );
        assert!(!row["why"].as_str().unwrap().is_empty());
    }
}

/// The row of a rung that is a step from `over`.
fn row<'r>(rows: &'r [Value], rung: &str, over: &str) -> &'r Value {
    rows.iter()
        .find(|row| row["rung"] == rung && row["over"] == over)
        .unwrap_or_else(|| panic!("no step from {over} to {rung}"))
}

/// Our step in a count.
fn step(row: &Value, measure: &str) -> f64 {
    let here = row["here"].as_array().unwrap();
    let here = here.iter().find(|here| here["measure"] == measure).unwrap();
    here["step"].as_f64().unwrap()
}

#[test]
fn the_data_has_the_figures_of_the_sources() {
    use Unit::{
        Cycles, Gbs, Gflops, Milliseconds, Nanoseconds, PercentOfPeak, Threads, TimesBefore,
    };
    use Unit::{ThreadsPerMultiprocessor, WarpsPerMultiprocessor};
    #[rustfmt::skip]
    let figures: &[(Source, &str, Unit, &[f64])] = &[
        (Source::Cse260, "naive_f64", Gflops, &[118.0]),
        (Source::Cse260, "naive_f64", Milliseconds, &[2.27, 8.9, 0.195]),
        (Source::Cse260, "tiled_32_f64", Gflops, &[259.0]),
        (Source::Cse260, "outputs_1", Gflops, &[137.0]),
        (Source::Cse260, "outputs_2", Gflops, &[341.0]),
        (Source::Cse260, "outputs_4", Gflops, &[427.0]),
        (Source::Cse260, "outputs_8", Gflops, &[485.0]),
        (Source::Cse260, "volkov_sgemm", PercentOfPeak, &[60.0]),
        (Source::Cse260, "copy_1", Threads, &[35_000.0]),
        (Source::Cse260, "fma_ilp_4", PercentOfPeak, &[100.0]),
        (Source::Ece408, "naive", Gflops, &[37.5, 25.0]),
        (Source::Ece408, "tiled_16", Gflops, &[600.0]),
        (Source::Ece408, "tiled_32", Gflops, &[1200.0]),
        (Source::Ece408, "tiled_guarded_16", TimesBefore, &[0.95]),
        (Source::Ece408, "tiled_guarded_32", TimesBefore, &[0.95]),
        (Source::Intervals, "add_one", Cycles, &[410.0, 417.0]),
        (Source::Intervals, "add_one", Threads, &[4341.0, 4416.0]),
        (Source::Intervals, "matvec_lcs", Cycles, &[720.0, 976.0]),
        (Source::Intervals, "matvec_lcs", Nanoseconds, &[388.4, 946.5]),
        (Source::Intervals, "matvec_lcs", Threads, &[971.9, 999.0, 1538.0]),
        (Source::Intervals, "matvec_lcs", ThreadsPerMultiprocessor, &[48.6, 268.8, 261.0, 118.0,
            231.8]),
        (Source::Intervals, "matvec_lcs", WarpsPerMultiprocessor, &[4.0]),
        (Source::Intervals, "matvec_interleaved", Threads, &[5609.4]),
        (Source::Intervals, "matvec_interleaved", ThreadsPerMultiprocessor, &[280.0]),
        (Source::Intervals, "matvec_interleaved", WarpsPerMultiprocessor, &[8.0]),
        (Source::Intervals, "matvec_thread_per_element", Cycles, &[497.0]),
        (Source::Intervals, "matvec_thread_per_element", Nanoseconds, &[287.3]),
        (Source::Intervals, "matvec_thread_per_element", Threads, &[11_502.0]),
        (Source::Intervals, "matvec_thread_per_element", ThreadsPerMultiprocessor, &[575.0]),
        (Source::Intervals, "matvec_thread_per_element", WarpsPerMultiprocessor, &[18.0, 16.0]),
        (Source::Patc, "copy", Gbs, &[60.9]),
        (Source::Patc, "transpose_naive", Gbs, &[22.4]),
        (Source::Patc, "transpose_coalesced", Gbs, &[24.1]),
        (Source::Patc, "transpose_padded", Gbs, &[46.6]),
        (Source::Wolfe, "cpu_naive", Gflops, &[1.7]),
        (Source::Wolfe, "cpu_strided", TimesBefore, &[0.1]),
        (Source::Wolfe, "cpu_blocked", Gflops, &[5.7]),
        (Source::Wolfe, "cpu_blocked_parallel", Gflops, &[22.0]),
        (Source::Wolfe, "naive_uncoalesced", Gflops, &[1.7]),
        (Source::Wolfe, "naive", Gflops, &[28.0, 29.0]),
        (Source::Wolfe, "wolfe_ks", Gflops, &[1.7]),
        (Source::Wolfe, "wolfe_k1_inverted", Gflops, &[5.7]),
        (Source::Wolfe, "wolfe_k1_w32", Gflops, &[28.0, 29.0]),
        (Source::Wolfe, "wolfe_k1_w64", Gflops, &[36.0, 38.0]),
        (Source::Wolfe, "wolfe_k1_w128", Gflops, &[35.0, 36.0]),
        (Source::Wolfe, "wolfe_k1_w256", Gflops, &[35.0, 36.0]),
        (Source::Wolfe, "wolfe_k2_w32", Gflops, &[33.0]),
        (Source::Wolfe, "wolfe_k2_w64", Gflops, &[55.0]),
        (Source::Wolfe, "wolfe_k2_w128", Gflops, &[63.0]),
        (Source::Wolfe, "wolfe_k2_w64_k2", Gflops, &[63.0]),
        (Source::Wolfe, "wolfe_k3_w32_i2", Gflops, &[53.0]),
        (Source::Wolfe, "wolfe_k3_w32_i4", Gflops, &[63.0]),
        (Source::Wolfe, "wolfe_k3_w64_i2", Gflops, &[63.0]),
        (Source::Wolfe, "wolfe_k4_w32_j2", Gflops, &[59.0]),
        (Source::Wolfe, "wolfe_k4_w64_j2", Gflops, &[98.0]),
        (Source::Wolfe, "wolfe_k4_w128_j2", Gflops, &[117.0]),
        (Source::Wolfe, "wolfe_k4_w128_j4", Gflops, &[176.0, 210.0]),
        (Source::Wolfe, "wolfe_k4_w128_j4_k2", Gflops, &[202.0]),
        (Source::Wolfe, "wolfe_k4_w128_j4_k4", Gflops, &[208.0, 265.0]),
        (Source::Wolfe, "wolfe_k4_guarded", TimesBefore, &[0.95]),
        (Source::Wolfe, "wolfe_k5", Gflops, &[164.0]),
    ];
    for &(source, rung, unit, values) in figures {
        let entries = source.groups().iter().flat_map(|group| group.entries);
        let found: Vec<f64> = entries
            .filter(|entry| entry.rung == rung)
            .flat_map(|entry| entry.figures)
            .filter(|figure| figure.unit == unit)
            .map(|figure| figure.value)
            .collect();
        for value in values {
            assert!(
                found.contains(value),
                "{rung}: {value} {unit} is missing among {found:?}"
            );
        }
    }
}

#[test]
fn source_000_counts_show_what_tiles_and_outputs_save() {
    let rows = rows("000", "128");
    // 9 sectors for 32 FMAs (8 of B and the one of A's element) against 16 for 32 times as many.
    assert!(step(row(&rows, "tiled_32_f64", "naive_f64"), "global sectors") > 10.0);
    assert_eq!(
        step(row(&rows, "outputs_2", "outputs_1"), "global sectors"),
        1.0
    );
    assert!(step(row(&rows, "outputs_2", "outputs_1"), "shared wavefronts") > 1.3);
    assert_eq!(
        row(&rows, "fma_ilp_2", "fma_ilp_1")["verdict"],
        "not_counted"
    );
}

#[test]
fn source_001_counts_are_4_bytes_per_flop_over_the_width_of_the_tile() {
    let rows = rows("001", "256");
    let bytes: Vec<f64> = rows
        .iter()
        .map(|row| row["here"][0]["value"].as_f64().unwrap())
        .collect();
    // Each output is stored once: 4 bytes for 2 k FLOP.
    let stores = 4.0 / (2.0 * 256.0);
    let tiles = [1.0, 16.0, 32.0, 16.0, 32.0];
    for (bytes, width) in bytes.iter().zip(tiles) {
        assert!(
            (bytes - (4.0 / width + stores)).abs() < 1e-12,
            "{bytes} B/FLOP with {width}"
        );
    }
    let guarded = row(&rows, "tiled_guarded_32", "tiled_32");
    assert!(step(guarded, "warp instructions") < 1.0);
}

#[test]
fn source_002_figures_are_steps_in_threads() {
    let rows = rows("002", "128");
    let there = &row(&rows, "matvec_interleaved", "matvec_lcs")["there"][0];
    // More threads are worse.
    assert!((there["step"].as_f64().unwrap() - 971.9 / 5609.4).abs() < 1e-12);
}

#[test]
fn source_003_counts_are_32_sectors_for_4_and_32_wavefronts_for_1() {
    let rows = rows("003", "64");
    // 4 sectors loaded in each, and 4, 32, 4 or 4 stored.
    let naive = row(&rows, "transpose_naive", "copy");
    assert_eq!(step(naive, "global sectors"), 8.0 / 36.0);
    assert_eq!(naive["verdict"], "larger");
    let coalesced = row(&rows, "transpose_coalesced", "transpose_naive");
    assert_eq!(step(coalesced, "global sectors"), 36.0 / 8.0);
    // 1 wavefront stored in each, and 32 or 1 loaded.
    let padded = row(&rows, "transpose_padded", "transpose_coalesced");
    assert_eq!(step(padded, "shared wavefronts"), 33.0 / 2.0);
    assert!(
        padded["why"]
            .as_str()
            .unwrap()
            .contains("16.5 times fewer shared wavefronts")
    );
}

#[test]
fn source_004_counts_follow_the_series() {
    let rows = rows("004", "256");
    // 33 sectors (A's 32 columns and B's one element, or the other way round) against 5.
    assert!(
        step(
            row(&rows, "wolfe_k1_inverted", "wolfe_ks"),
            "global sectors"
        ) > 6.5
    );
    // Twice the columns for each element of A.
    assert!(
        step(
            row(&rows, "wolfe_k4_w128_j4", "wolfe_k4_w128_j2"),
            "global sectors"
        ) > 1.9
    );
    assert_eq!(
        step(
            row(&rows, "wolfe_k3_w32_i4", "wolfe_k3_w32_i2"),
            "shared wavefronts"
        ),
        2.0
    );
    assert!(
        step(
            row(&rows, "wolfe_k2_w64_k2", "wolfe_k2_w64"),
            "warp instructions"
        ) > 1.2
    );
}

/// The emulator in the place of a GPU: what it takes counts as times of a device, which those of
/// the emulator are not.
struct StandIn(EmulatorEngine);

impl Engine for StandIn {
    fn kind(&self) -> EngineKind {
        EngineKind::Gpu
    }

    fn device_name(&self) -> &str {
        "stand-in"
    }

    fn compute_capability(&self) -> ComputeCapability {
        self.0.compute_capability()
    }

    fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors()
    }

    fn free_memory(&self) -> Result<u64, EngineError> {
        self.0.free_memory()
    }

    fn load(&self, ptx: &str, entry: &str) -> Result<KernelId, EngineError> {
        self.0.load(ptx, entry)
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr, EngineError> {
        self.0.alloc(bytes)
    }

    fn free(&self, ptr: DevicePtr) {
        self.0.free(ptr);
    }

    fn upload(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), EngineError> {
        self.0.upload(to, bytes)
    }

    fn download(&self, bytes: &mut [u8], from: DevicePtr) -> Result<(), EngineError> {
        self.0.download(bytes, from)
    }

    fn tensor_map(&self, matrix: &MatrixMap) -> Result<[u8; TENSOR_MAP_BYTES], EngineError> {
        self.0.tensor_map(matrix)
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<(), EngineError> {
        // SAFETY: the same contract.
        unsafe { self.0.run(launch) }
    }

    unsafe fn time(&self, launches: &[Launch<'_>], rounds: u32) -> Result<f64, EngineError> {
        // SAFETY: the same contract.
        unsafe { self.0.time(launches, rounds) }
    }
}

const fn square(size: u32) -> Shape {
    Shape {
        m: size,
        n: size,
        k: size,
    }
}

#[test]
fn times_are_compared_where_the_engine_is_timed() {
    let device = StandIn(EmulatorEngine::new());
    let mut bench = Bench::timed(&device, Some(square(64)), 1, 2);
    for source in [Source::Patc, Source::Intervals] {
        for group in source.groups() {
            let rows = reproduce::reproduce(&mut bench, source, group).unwrap();
            for row in rows {
                assert!(row.ok, "{row:?}");
                assert_eq!(row.here.len(), group.timed.len());
                for here in &row.here {
                    assert!(here.value.is_some_and(|value| value > 0.0), "{row:?}");
                }
                let measured = [StepVerdict::NotMeasured, StepVerdict::NotCounted];
                assert!(!measured.contains(&row.verdict), "{row:?}");
                assert_eq!(row.verdict == StepVerdict::First, row.over.is_none());
            }
        }
    }
}

#[test]
fn bounds_and_shares_are_taken_from_the_reference() {
    let device = StandIn(EmulatorEngine::new());
    let mut bench = Bench::timed(&device, Some(square(128)), 1, 1);
    let group = Source::Cse260
        .groups()
        .iter()
        .find(|group| {
            group
                .entries
                .iter()
                .any(|entry| entry.rung == "volkov_sgemm")
        })
        .unwrap();
    let rows = reproduce::reproduce(&mut bench, Source::Cse260, group).unwrap();
    for row in &rows {
        let (share, rate) = (&row.here[0], &row.here[1]);
        assert_eq!(
            (share.unit.as_str(), rate.unit.as_str()),
            ("% of peak", "GFLOP/s")
        );
        assert!(share.value.is_some() && rate.value.is_some(), "{row:?}");
    }
    // Shares are to each other as the rates are.
    let (first, second) = (&rows[0], &rows[1]);
    let ratio = |index: usize| first.here[index].value.unwrap() / second.here[index].value.unwrap();
    assert!((ratio(0) / ratio(1) - 1.0).abs() < 1e-9);
}

/// One line on standard error, nothing on standard output, status 2.
fn refused(args: &[&str]) -> String {
    let output = warpladder(args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    message
}

#[test]
fn a_size_that_a_rung_does_not_take_is_refused_with_one_that_all_take() {
    let message = refused(&["--engine", "emulator", "--shape", "100"]);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(
        message.contains("not 100 x 100 x 100") && message.contains("multiple of 256"),
        "{message}"
    );
}

#[test]
fn what_is_no_source_no_size_or_no_file_is_refused() {
    assert!(refused(&["--source", "005"]).contains("000"));
    assert!(refused(&["--shape", "0"]).contains("--shape"));
    assert!(refused(&["--reps", "0"]).contains("--reps"));
    assert!(refused(&["--json", "/no such folder/rows.json"]).contains("/no such folder"));
}

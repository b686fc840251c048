//! Predictions beside what an H200 measured (`results/h200/predict.json`), and the document that
//! shows them.
//!
//! `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli predictions` writes the document.
//! `WARPLADDER_UPDATE=predictions` makes all predictions and the sweeps' predicted points anew
//! before that, which takes minutes of a release build.

use rayon::prelude::*;
use serde::Deserialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{self, Implementation};
use warpladder_lab::predict::{self, Forecast, ForecastError, forecast};
use warpladder_lab::problem::Shape;
use warpladder_lab::results;
use warpladder_lab::sweep::{Over, Point, Sweep, SweepRequest, sweep};
use warpladder_models::devices;

/// A rung at a size: measured, and predicted by `warpladder predict --json`, of which these fields
/// are kept.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    kernel: String,
    family: String,
    m: u32,
    n: u32,
    k: Option<u32>,
    measured_ms: f64,
    /// None where there is no prediction.
    predicted_ms: Option<f64>,
    bound: Option<String>,
    /// Why there is none.
    refused: Option<String>,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.predicted_ms.unwrap_or(f64::NAN) / self.measured_ms
    }

    fn within(&self, factor: f64) -> bool {
        self.ratio().max(1.0 / self.ratio()) <= factor
    }
}

/// Why predictions miss by more than 1.25: what kernels of these names have in common.
const REASONS: &[(&[&str], &str)] = &[
    (
        &["matvec_thread_per_element"],
        "each warp waits for one vector's loads at a time, and memory that is busy answers later \
         still than the norm of latency \
         and bandwidth has it",
    ),
    (
        &["matvec_lcs_28", "matvec_lcs_32", "matvec_interleaved_28"],
        "operands from more than 2 KiB of constants: how many are found near the units depends on \
         how far the warps have \
         drifted apart",
    ),
    (
        &["matvec_lcs", "matvec_interleaved"],
        "stores of one warp merge before they reach the L2 cache: the model lets as many warps store \
         at a time as `matvec_lcs` \
         has, and these have fewer, since they wait for loads in between",
    ),
    (
        &["naive", "wolfe_k1", "wolfe_k4"],
        "how far the assembler moves loads ahead in loops of few instructions decides how much \
         latency is left: the model \
         unrolls them by four, and not at all where there is a branch",
    ),
    (
        &["wgmma"],
        "copies of the operands before the GEMM are predicted as if nothing of them stayed in \
         the L2 cache",
    ),
    (
        &["copy", "transpose_padded", "transpose_swizzled"],
        "at 2048 both matrices stay in the L2 cache from one launch to the next: loads come back \
         sooner than from DRAM, and blocks with a barrier are bound by that",
    ),
    (
        &["outputs_8x8"],
        "all 128 registers of a thread are taken, so the assembler places loads from shared memory \
         close to their use (seen in its code): the model lets the other 15 warps hide that \
         latency",
    ),
    (
        &["matvec_fast"],
        "with few waves of blocks all of them load, compute and store at the same time: the model \
         lets these phases overlap",
    ),
];

fn reason(kernel: &str) -> &'static str {
    let of = |(names, _): &&(&[&str], &str)| names.iter().any(|name| kernel.starts_with(name));
    let found = REASONS.iter().find(of);
    found.unwrap_or_else(|| panic!("{kernel} has no reason")).1
}

fn root() -> PathBuf {
    PathBuf::from(warpladder::SOURCE_ROOT)
}

/// What is to be made anew: see above.
fn update() -> Option<String> {
    std::env::var("WARPLADDER_UPDATE").ok()
}

/// What is predicted, and what cannot be.
fn files() -> [PathBuf; 2] {
    ["predict.json", "predict-refused.json"].map(|name| root().join("results/h200").join(name))
}

fn values() -> Vec<serde_json::Value> {
    let read = |path| -> Vec<serde_json::Value> {
        results::read(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    files().into_iter().flat_map(read).collect()
}

fn rows() -> Vec<Row> {
    let rows = values().into_iter().map(serde_json::from_value);
    rows.collect::<Result<_, _>>().unwrap()
}

fn shape(row: &Row) -> Shape {
    Shape {
        m: row.m,
        n: row.n,
        k: row.k.unwrap_or(row.m),
    }
}

/// What changes with the PTX of a kernel: `run` shows a prediction for the PTX that it has alone.
fn fingerprint(row: &Row) -> u64 {
    let h200 = devices::find("H200").unwrap();
    let rung = catalogue::find(&row.kernel).unwrap();
    predict::fingerprint(h200, rung, shape(row)).unwrap()
}

fn predicted(row: &Row) -> Result<Forecast, ForecastError> {
    let shape = shape(row);
    let rung = catalogue::find(&row.kernel).unwrap();
    let h200 = devices::find("H200").unwrap();
    forecast(&EmulatorEngine::new(), h200, rung, shape, 1)
}

/// Sweeps that were measured on an H200.
fn sweeps() -> [PathBuf; 4] {
    [
        "add_one",
        "matvec_interleaved",
        "matvec_lcs",
        "matvec_thread_per_element",
    ]
    .map(|kernel| root().join(format!("results/h200/sweep-{kernel}.json")))
}

fn saved(sweep: &Path) -> Sweep {
    let text = std::fs::read_to_string(sweep).unwrap();
    results::read(&text).unwrap().remove(0)
}

/// Makes the predicted points of the sweeps anew and keeps them beside the measured ones.
fn sweep_again() {
    let h200 = devices::find("H200").unwrap();
    sweeps().into_par_iter().for_each(|file| {
        let before = saved(&file);
        let rung = catalogue::find(&before.kernel).unwrap();
        let again = sweep(&SweepRequest {
            device: h200,
            gpu: None,
            rung,
            over: before.over,
            shape: before.shape,
            seed: 1,
        })
        .unwrap();
        let points = before.points.iter().map(|point| {
            let predicted = again.points.iter().find(|again| again.x == point.x);
            Point {
                measured: point.measured,
                measured_ms: point.measured_ms,
                ..predicted.unwrap().clone()
            }
        });
        let sweep = Sweep {
            points: points.collect(),
            predicted_knee: again.predicted_knee,
            ..before
        };
        let text = serde_json::to_string_pretty(&sweep).unwrap();
        std::fs::write(file, text + "\n").unwrap();
    });
}

/// Makes all predictions anew and keeps them beside the measurements.
fn predict_again() {
    let mut values = values();
    values.par_iter_mut().for_each(|value| {
        let row: Row = serde_json::from_value(value.clone()).unwrap();
        let forecast = match predicted(&row) {
            Ok(forecast) => forecast,
            Err(refused) => {
                let fields = value.as_object_mut().unwrap();
                fields.retain(|name, _| {
                    !["predicted_ms", "bound", "times", "ptx"].contains(&&**name)
                });
                value["refused"] = refused.to_string().into();
                return;
            }
        };
        let longest = &forecast.longest().prediction;
        let times = longest.times.iter().map(|time| {
            let bound = serde_json::to_value(time.bound).unwrap();
            let ms = time.seconds * 1e3;
            (bound.as_str().unwrap().to_owned(), ms.into())
        });
        value["predicted_ms"] = (forecast.seconds() * 1e3).into();
        value["ptx"] = format!("{:016x}", fingerprint(&row)).into();
        value["bound"] = serde_json::to_value(longest.bound).unwrap();
        value["times"] = times.collect::<serde_json::Map<_, _>>().into();
        value.as_object_mut().unwrap().remove("refused");
    });
    let (refused, predicted): (Vec<_>, Vec<_>) = values
        .iter()
        .partition(|value| value.get("refused").is_some());
    for (path, values) in files().into_iter().zip([predicted, refused]) {
        let rows: Vec<String> = values.iter().map(|value| format!("  {value}")).collect();
        std::fs::write(path, format!("[\n{}\n]\n", rows.join(",\n"))).unwrap();
    }
}

/// Those of a size that are predicted.
fn at(rows: &[Row], size: u32) -> Vec<&Row> {
    rows.iter()
        .filter(|row| row.m == size && row.predicted_ms.is_some())
        .collect()
}

/// Pairs of a family whose times differ by more than a tenth, and how many of them are in the right
/// order.
fn ranking(rows: &[&Row]) -> (usize, usize) {
    let (mut right, mut all) = (0, 0);
    for (index, a) in rows.iter().enumerate() {
        for b in rows[..index].iter().filter(|b| b.family == a.family) {
            let ratio = a.measured_ms / b.measured_ms;
            if ratio.max(1.0 / ratio) > 1.1 {
                all += 1;
                right += usize::from((ratio > 1.0) == (a.predicted_ms > b.predicted_ms));
            }
        }
    }
    (right, all)
}

const SIZES: [u32; 3] = [4096, 2048, 3001];

/// Share of the rungs of a size that are predicted within 1.25 times, at least.
const MIN_CLOSE: f64 = 0.80;

/// How far the predicted knee of a sweep may be from the measured one, as a factor.
const KNEE_FACTOR: f64 = 1.5;

#[test]
fn predictions_are_as_good_as_the_document_says() {
    let rows = rows();
    for size in SIZES {
        let rows = at(&rows, size);
        let close = rows.iter().filter(|row| row.within(1.25)).count();
        let far = rows.iter().filter(|row| !row.within(2.0)).count();
        assert!(
            close as f64 >= MIN_CLOSE * rows.len() as f64 && far == 0,
            "{size}: {close} close, {far} far of {}",
            rows.len()
        );
        let (right, all) = ranking(&rows);
        assert!(right * 10 >= all * 9, "{size}: {right} of {all}");
    }
}

#[test]
fn the_predictions_are_those_of_the_models() {
    for row in rows() {
        // Those that are quick to count.
        if !["copy_1", "transpose_padded", "fma_ilp_2"].contains(&&*row.kernel) {
            continue;
        }
        let ms = predicted(&row).unwrap().seconds() * 1e3;
        assert!(
            (ms / row.predicted_ms.unwrap() - 1.0).abs() < 1e-6,
            "{row:?}: {ms}"
        );
    }
}

/// Source 002 on a GTX 1080: `matvec_lcs` peaks at 4 warps, and threads per element level off
/// between 16 and 20.
#[test]
fn knees_of_the_gtx_1080_are_those_of_the_source() {
    let gtx_1080 = devices::find("GTX 1080").unwrap();
    let shape = Shape {
        m: 4096,
        n: 4096,
        k: 4096,
    };
    let curve = |kernel| {
        let rung = catalogue::find(kernel).unwrap();
        sweep(&SweepRequest {
            device: gtx_1080,
            gpu: None,
            rung,
            over: Over::Warps,
            shape,
            seed: 1,
        })
        .unwrap()
    };
    let lcs = curve("matvec_lcs").points;
    let peak = lcs
        .iter()
        .max_by(|a, b| a.predicted.total_cmp(&b.predicted));
    let peak = peak.unwrap();
    assert!((3..=6).contains(&peak.x), "{peak:?}");
    assert!(lcs.last().unwrap().predicted < 0.75 * peak.predicted);
    let knee = curve("matvec_thread_per_element").predicted_knee.unwrap();
    assert!((16.0..=20.0).contains(&knee), "{knee}");
}

/// Knees that were measured on an H200.
#[test]
fn knees_of_the_h200_are_near_the_measured_ones() {
    if update().as_deref() == Some("predictions") {
        sweep_again();
    }
    for file in sweeps() {
        let Sweep {
            kernel,
            predicted_knee,
            measured_knee,
            ..
        } = saved(&file);
        let ratio = predicted_knee.unwrap() / measured_knee.unwrap();
        assert!(
            (1.0 / KNEE_FACTOR..=KNEE_FACTOR).contains(&ratio),
            "{kernel}: {ratio}"
        );
    }
}

#[test]
fn the_document_is_that_of_the_results() {
    let update = update();
    if update.as_deref() == Some("predictions") {
        predict_again();
    }
    let rows = rows();
    let mut text = String::new();
    for size in SIZES {
        let rows = at(&rows, size);
        let count = |factor| rows.iter().filter(|row| row.within(factor)).count();
        let (right, all) = ranking(&rows);
        writeln!(
            text,
            "\n## {size}\n\nOf {} rungs {} are within 1.25 times, {} within twice what was \
             measured; of {all} pairs of a family that \
             differ by more than a tenth {right} are in the right order.\n\n\
             | kernel | measured ms | predicted ms | predicted/measured | bound by \
             |\n|---|--:|--:|--:|---|",
            rows.len(),
            count(1.25),
            count(2.0),
        )
        .unwrap();
        for row in &rows {
            let (measured, ratio) = (row.measured_ms, row.ratio());
            let predicted = row.predicted_ms.unwrap();
            let bound = row.bound.as_deref().unwrap();
            let mark = if row.within(1.25) { "" } else { " *" };
            writeln!(
                text,
                "| `{}` | {measured:.4} | {predicted:.4} | {ratio:.2}{mark} | {} |",
                row.kernel, bound
            )
            .unwrap();
        }
    }
    text.push_str("\n## Without a prediction\n\n");
    for row in rows.iter().filter(|row| row.predicted_ms.is_none()) {
        let (kernel, size, refused) = (&row.kernel, row.m, row.refused.as_deref().unwrap());
        writeln!(text, "- `{kernel}` at {size}: {refused}.").unwrap();
    }
    for rung in catalogue::rungs().filter(|rung| rows.iter().all(|row| row.kernel != rung.name)) {
        let why = match rung.implementation {
            Implementation::Cpu(_) => "runs on the host",
            Implementation::Dispatch(_) => "runs one of the other rungs",
            _ => "was not measured",
        };
        writeln!(text, "- `{}` {why}.", rung.name).unwrap();
    }
    text.push_str("\n## Misses\n\nA star marks what is off by more than 1.25. Why:\n\n");
    for (_, why) in REASONS {
        let mut kernels: Vec<String> = rows
            .iter()
            .filter(|row| row.predicted_ms.is_some() && !row.within(1.25))
            .filter(|row| reason(&row.kernel) == *why)
            .map(|row| format!("`{}`", row.kernel))
            .collect();
        kernels.dedup();
        kernels.sort();
        kernels.dedup();
        if !kernels.is_empty() {
            writeln!(text, "- {}: {why}.", kernels.join(", ")).unwrap();
        }
    }
    let path: &Path = &root().join("docs/predictions.md");
    let document = std::fs::read_to_string(path).unwrap();
    let begin = "<!-- tables -->\n";
    let start = document.find(begin).unwrap() + begin.len();
    if update.is_some() {
        std::fs::write(path, format!("{}{text}", &document[..start])).unwrap();
        return;
    }
    assert_eq!(
        &document[start..],
        text,
        "run `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli predictions`"
    );
}

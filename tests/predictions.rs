//! Predictions beside what an H200 measured (`results/h200/predict.json`), and the document that shows them.
//!
//! `WARPLADDER_UPDATE=1 cargo test --test predictions` writes the document.

use serde::Deserialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use warpladder::catalogue;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::model::devices;
use warpladder::predict::forecast;
use warpladder::problem::Shape;

/// A rung at a size: measured, and predicted by `warpladder predict --json`, of which these fields are kept.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    kernel: String,
    family: String,
    m: u32,
    n: u32,
    k: Option<u32>,
    measured_ms: f64,
    predicted_ms: f64,
    bound: String,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.predicted_ms / self.measured_ms
    }

    fn within(&self, factor: f64) -> bool {
        self.ratio().max(1.0 / self.ratio()) <= factor
    }
}

/// Why predictions miss by more than 1.25: what kernels of these names have in common.
const REASONS: &[(&[&str], &str)] = &[
    (
        &["matvec_thread_per_element"],
        "the model serves the constant bank address by address, as PTX loads it: the assembler keeps rows of the matrix in \
         registers from vector to vector (4, 8, any) and loads two elements at once (12, 20, 24); rows 128 bytes apart (32) \
         do not stay in the cache",
    ),
    (
        &[
            "matvec_lcs_8",
            "matvec_interleaved_8",
            "matvec_lcs_12",
            "matvec_interleaved_12",
        ],
        "stores of one warp merge on their way to the L2 cache while few lines are under way: the model says all of them up \
         to 8 lines and none of more",
    ),
    (
        &["matvec_lcs", "matvec_interleaved"],
        "operands from more than 2 KiB of constants: how many are found near the units depends on how far the warps have \
         drifted apart",
    ),
    (
        &["naive_uncoalesced"],
        "at sizes that are no multiple of a tile, sectors that two blocks share and the edges are extrapolated from small sizes",
    ),
    (
        &["naive", "wolfe_k1", "wolfe_k4"],
        "how far the assembler moves loads ahead in loops of few instructions decides how much latency is left: the model \
         unrolls them by four, and not at all where there is a branch",
    ),
    (
        &["add_one", "copy", "transpose", "matvec_fast", "wgmma"],
        "memory answers later when it is busy, which the model adds only through the norm of all bounds; at 2048 a launch takes \
         as long as what is left, and it was measured apart",
    ),
];

fn reason(kernel: &str) -> &'static str {
    let of = |(names, _): &&(&[&str], &str)| names.iter().any(|name| kernel.starts_with(name));
    let found = REASONS.iter().find(of);
    found.unwrap_or_else(|| panic!("{kernel} has no reason")).1
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("results/h200/predict.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn at(rows: &[Row], size: u32) -> Vec<&Row> {
    rows.iter().filter(|row| row.m == size).collect()
}

/// Pairs of a family whose times differ by more than a tenth, and how many of them are in the right order.
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

#[test]
fn predictions_are_as_good_as_the_document_says() {
    let rows = rows();
    let at_4096 = at(&rows, 4096);
    let close = at_4096.iter().filter(|row| row.within(1.25)).count();
    let far = at_4096.iter().filter(|row| !row.within(2.0)).count();
    assert!(
        close >= 75 && far <= 2,
        "{close} close, {far} far of {}",
        at_4096.len()
    );
    for size in SIZES {
        let (right, all) = ranking(&at(&rows, size));
        assert!(right * 10 >= all * 9, "{size}: {right} of {all}");
    }
}

#[test]
fn the_predictions_are_those_of_the_models() {
    let emulator = EmulatorEngine::new();
    let h200 = devices::find("H200").unwrap();
    for row in rows() {
        // Those that are quick to count.
        if !["copy_1", "transpose_padded", "fma_ilp_2"].contains(&&*row.kernel) {
            continue;
        }
        let shape = Shape {
            m: row.m,
            n: row.n,
            k: row.k.unwrap_or(row.m),
        };
        let rung = catalogue::find(&row.kernel).unwrap();
        let forecast = forecast(&emulator, h200, rung, shape, 1).unwrap();
        let ms = forecast.prediction.seconds * 1e3;
        assert!((ms / row.predicted_ms - 1.0).abs() < 1e-6, "{row:?}: {ms}");
    }
}

#[test]
fn the_document_is_that_of_the_results() {
    let rows = rows();
    let mut text = String::new();
    for size in SIZES {
        let rows = at(&rows, size);
        let count = |factor| rows.iter().filter(|row| row.within(factor)).count();
        let (right, all) = ranking(&rows);
        writeln!(
            text,
            "\n## {size}\n\nOf {} rungs {} are within 1.25 times, {} within twice what was measured; of {all} pairs of a family that \
             differ by more than a tenth {right} are in the right order.\n\n\
             | kernel | measured ms | predicted ms | predicted/measured | bound by |\n|---|--:|--:|--:|---|",
            rows.len(),
            count(1.25),
            count(2.0),
        )
        .unwrap();
        for row in &rows {
            let (measured, predicted, ratio) = (row.measured_ms, row.predicted_ms, row.ratio());
            let mark = if row.within(1.25) { "" } else { " *" };
            writeln!(
                text,
                "| `{}` | {measured:.4} | {predicted:.4} | {ratio:.2}{mark} | {} |",
                row.kernel, row.bound
            )
            .unwrap();
        }
    }
    text.push_str("\n## Misses\n\nA star marks what is off by more than 1.25. Why:\n\n");
    for (_, why) in REASONS {
        let mut kernels: Vec<String> = rows
            .iter()
            .filter(|row| !row.within(1.25) && reason(&row.kernel) == *why)
            .map(|row| format!("`{}`", row.kernel))
            .collect();
        kernels.dedup();
        kernels.sort();
        kernels.dedup();
        writeln!(text, "- {}: {why}.", kernels.join(", ")).unwrap();
    }
    let path: &Path = &root().join("docs/predictions.md");
    let document = std::fs::read_to_string(path).unwrap();
    let begin = "<!-- tables -->\n";
    let start = document.find(begin).unwrap() + begin.len();
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(path, format!("{}{text}", &document[..start])).unwrap();
        return;
    }
    assert_eq!(
        &document[start..],
        text,
        "run `WARPLADDER_UPDATE=1 cargo test --test predictions`"
    );
}

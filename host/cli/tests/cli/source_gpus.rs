//! Predictions for the GPUs of the sources, beside the figures that these give, and the table of
//! both in the document.
//!
//! Steps between rungs are compared, not times: each figure is over that of its group's first rung.
//! `WARPLADDER_UPDATE=1 cargo test --release --test source_gpus` writes the tables.

use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use test_sample::Sample;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue;
use warpladder_lab::predict::forecast;
use warpladder_lab::problem::Shape;
use warpladder_models::devices;

/// Rungs that a source measured on one GPU.
struct Group {
    source: &'static str,
    device: &'static str,
    size: u32,
    unit: &'static str,
    /// Rungs with the source's figures, the one that the others are compared with first.
    rungs: &'static [(&'static str, f64)],
}

const GROUPS: [Group; 2] = [
    Group {
        source: "003",
        device: "S2050",
        size: 2048,
        unit: "GB/s",
        rungs: &[
            ("copy", 60.9),
            ("transpose_naive", 22.4),
            ("transpose_coalesced", 24.1),
            ("transpose_padded", 46.6),
        ],
    },
    // Host to host. The first is the one that fills a multiprocessor: eight blocks of one warp do
    // not.
    Group {
        source: "004",
        device: "GTX 280",
        size: 4096,
        unit: "GFLOP/s",
        rungs: &[
            ("wolfe_k1_w64", 36.0),
            ("wolfe_k1_w32", 28.0),
            ("wolfe_ks", 1.7),
            ("wolfe_k1_inverted", 5.7),
            ("wolfe_k1_w128", 35.0),
            ("wolfe_k1_w256", 35.0),
            ("wolfe_k2_w32", 33.0),
            ("wolfe_k2_w64", 55.0),
            ("wolfe_k2_w128", 63.0),
            ("wolfe_k2_w64_k2", 63.0),
            ("wolfe_k3_w32_i2", 53.0),
            ("wolfe_k3_w32_i4", 63.0),
            ("wolfe_k3_w64_i2", 63.0),
            ("wolfe_k4_w32_j2", 59.0),
            ("wolfe_k4_w64_j2", 98.0),
            ("wolfe_k4_w128_j2", 117.0),
            ("wolfe_k4_w128_j4", 176.0),
            ("wolfe_k4_w128_j4_k2", 202.0),
            ("wolfe_k4_w128_j4_k4", 208.0),
            ("wolfe_k5", 164.0),
        ],
    },
];

/// A rung of a group.
struct Row {
    kernel: &'static str,
    measured: f64,
    predicted: f64,
    /// Figures over those of the group's first rung.
    measured_step: f64,
    predicted_step: f64,
    bound: String,
}

impl Row {
    fn off(&self) -> f64 {
        let ratio = self.predicted_step / self.measured_step;
        ratio.max(1.0 / ratio)
    }
}

fn rows(group: &Group, rungs: &[(&'static str, f64)]) -> Vec<Row> {
    let device = devices::find(group.device).unwrap();
    let shape = Shape {
        m: group.size,
        n: group.size,
        k: group.size,
    };
    let predicted = |&(kernel, measured): &(&'static str, f64)| {
        let rung = catalogue::find(kernel).unwrap();
        let forecast = forecast(&EmulatorEngine::new(), device, rung, shape, 1).unwrap();
        let work = match group.unit {
            "GB/s" => rung.operation.elements_moved(shape) * 4.0,
            _ => rung.operation.flops(shape),
        };
        let bound = forecast.longest().prediction.bound.to_string();
        (kernel, measured, work / forecast.seconds() / 1e9, bound)
    };
    let all: Vec<_> = rungs.par_iter().map(predicted).collect();
    let (_, first_measured, first_predicted, _) = all[0];
    let row = |(kernel, measured, predicted, bound)| Row {
        kernel,
        measured,
        predicted,
        measured_step: measured / first_measured,
        predicted_step: predicted / first_predicted,
        bound,
    };
    all.into_iter().map(row).collect()
}

/// The document's table of a group.
fn table(group: &Group, rows: &[Row]) -> String {
    let close = rows[1..].iter().filter(|row| row.off() <= 1.5).count();
    let steps = rows.len() - 1;
    let mut text = String::new();
    writeln!(
        text,
        "\nSource {} on a {}, {}: {close} of {steps} steps within 1.5 times.\n\n\
         | kernel | source | predicted | step in the source | step predicted | bound by \
         |\n|---|--:|--:|--:|--:|---|",
        group.source, group.device, group.unit,
    )
    .unwrap();
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

fn line(row: &Row) -> String {
    let mark = if row.off() <= 1.5 { "" } else { " *" };
    format!(
        "| `{}` | {:.1} | {:.1} | {:.2} | {:.2}{mark} | {} |\n",
        row.kernel, row.measured, row.predicted, row.measured_step, row.predicted_step, row.bound
    )
}

fn document() -> PathBuf {
    Path::new(warpladder::SOURCE_ROOT).join("docs/predictions.md")
}

/// All tables, which takes minutes.
fn update() {
    let tables: Vec<String> = GROUPS
        .iter()
        .map(|group| table(group, &rows(group, group.rungs)))
        .collect();
    let text = std::fs::read_to_string(document()).unwrap();
    let begin = "<!-- sources -->\n";
    let start = text.find(begin).unwrap() + begin.len();
    let end = start + text[start..].find("<!-- end -->").unwrap();
    let updated = format!("{}{}\n{}", &text[..start], tables.concat(), &text[end..]);
    std::fs::write(document(), updated).unwrap();
}

#[test]
fn the_transposes_of_003_come_out_on_its_gpu() {
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        update();
    }
    let [transposes, _] = &GROUPS;
    let rows = rows(transposes, transposes.rungs);
    for row in &rows {
        assert!(row.off() <= 1.5, "{}", line(row));
    }
    let text = std::fs::read_to_string(document()).unwrap();
    let expected = table(transposes, &rows);
    assert!(
        text.contains(&expected),
        "run `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli source_gpus`: {expected}"
    );
}

#[test]
fn the_document_has_the_predictions_for_the_gpu_of_004() {
    let [_, wolfe] = &GROUPS;
    // Those that are quick to count. Steps are relative to the first, which is in every sample.
    let sample = Sample::from_env();
    let most = if sample.takes("the second of 004", 4) {
        2
    } else {
        1
    };
    sample.report(most, 2, "predictions of source 004");
    let quick: Vec<_> = wolfe.rungs.iter().copied().take(most).collect();
    let text = std::fs::read_to_string(document()).unwrap();
    for row in rows(wolfe, &quick) {
        assert!(text.contains(&line(&row)), "{}", line(&row));
    }
    for (kernel, _) in wolfe.rungs {
        assert!(text.contains(&format!("| `{kernel}` | ")), "{kernel}");
    }
}

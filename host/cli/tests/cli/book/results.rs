//! Tables of what was measured, from the files in `results/h200`.

use super::{read, root, table};
use serde_json::Value;
use std::path::Path;
use warpladder_models::Bound;
use warpladder_report::numbers::significant;

pub(super) fn results(file: &str) -> Vec<Value> {
    read_results(&root().join("results/h200").join(file))
}

fn read_results(path: &Path) -> Vec<Value> {
    let read = warpladder_lab::results::read(&read(path));
    read.unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

fn text<'v>(record: &'v Value, field: &str) -> &'v str {
    record[field].as_str().unwrap_or_default()
}

pub(super) fn number(record: &Value, field: &str) -> Option<f64> {
    record[field].as_f64()
}

/// The record of a kernel; the first, which is that of the largest size.
pub(super) fn of_kernel<'v>(records: &'v [Value], kernel: &str) -> &'v Value {
    let mut all = records.iter();
    all.find(|record| text(record, "kernel") == kernel)
        .unwrap_or_else(|| panic!("there is no result of {kernel}"))
}

/// The extents of a record.
fn size(record: &Value) -> String {
    let extents = ["m", "n", "k"].map(|name| record[name].as_u64());
    let extents: Vec<String> = extents
        .into_iter()
        .flatten()
        .map(|x| x.to_string())
        .collect();
    extents.join(" × ")
}

/// The words for a bound that predictions name by its code.
fn words(code: &str) -> String {
    let all = [
        Bound::Issue,
        Bound::Dispatch,
        Bound::Fp32,
        Bound::Fp64,
        Bound::Half,
        Bound::Tensor,
        Bound::Integer,
        Bound::Special,
        Bound::Conversion,
        Bound::LoadStore,
        Bound::Shared,
        Bound::L1,
        Bound::Constant,
        Bound::L2,
        Bound::Dram,
        Bound::Blocks,
        Bound::Latency,
        Bound::Barriers,
        Bound::Atomics,
    ];
    let bound = all
        .iter()
        .find(|&bound| serde_json::to_value(bound).is_ok_and(|value| value == code));
    bound
        .unwrap_or_else(|| panic!("unknown bound {code}"))
        .to_string()
}

/// Kernels as they ran on the H200 in `file`, one below the other, with what was predicted of them
/// at that size.
pub fn measured(file: &str, kernels: &[&str]) -> String {
    let runs = results(file);
    let predictions = results("predict.json");
    let devices = results("devices.json");
    let records: Vec<&Value> = kernels.iter().map(|name| of_kernel(&runs, name)).collect();
    // What is one sum of products for each output is told by its arithmetic, all else by its bytes.
    let (unit, rate) = match number(records[0], "k") {
        Some(_) => ("GFLOP/s", "gflops"),
        None => ("GB/s", "gbs"),
    };
    let first = number(records[0], rate).expect("a rate");
    let head = [
        "kernel",
        "ms",
        unit,
        "over the first",
        "predicted ms",
        "bound by",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for record in &records {
        let kernel = text(record, "kernel");
        let same = |row: &&Value, field: &str| row[field] == record[field];
        let predicted = predictions.iter().find(|row| {
            ["kernel", "m", "n", "k"]
                .iter()
                .all(|field| same(row, field))
        });
        let of_prediction = |cell: fn(&Value) -> String| predicted.map_or("-".to_owned(), cell);
        let value = number(record, rate).expect("a rate");
        rows.push(vec![
            format!("`{kernel}`"),
            significant(number(record, "median_ms").expect("a time")),
            format!("{value:.0}"),
            format!("{:.2}", value / first),
            of_prediction(|row| significant(number(row, "predicted_ms").expect("a prediction"))),
            of_prediction(|row| words(text(row, "bound"))),
        ]);
    }
    format!(
        "{}\n{}, {}, driver {}; `results/h200/{file}` and `predict.json`.\n",
        table(&rows),
        text(&devices[0], "name"),
        size(records[0]),
        text(records[0], "driver"),
    )
}

/// What a source gives for its kernels, or for these of them, beside the same kernels on the H200.
pub fn sources(source: &str, group: &str, kernels: Option<&[&str]>) -> String {
    let records = results("reproduce.json");
    let records: Vec<&Value> = records
        .iter()
        .filter(|record| {
            text(record, "source") == source && text(record, "group").starts_with(group)
        })
        .filter(|record| kernels.is_none_or(|these| these.contains(&text(record, "rung"))))
        .collect();
    assert!(!records.is_empty(), "source {source} has no {group}");
    let head = ["kernel", "there", "step there", "here", "step here"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for record in &records {
        let there = record["there"].as_array().expect("figures");
        let here = record["here"].as_array().expect("figures");
        let step = |figures: &[Value]| {
            let step = figures.first().and_then(|figure| number(figure, "step"));
            step.map_or("-".to_owned(), |step| format!("{step:.2}"))
        };
        let figures: Vec<&str> = there.iter().map(|figure| text(figure, "words")).collect();
        let ours = here.first().and_then(|first| {
            let value = number(first, "value")?;
            Some(format!("{} {}", significant(value), text(first, "unit")))
        });
        rows.push(vec![
            format!("`{}`", text(record, "rung")),
            if figures.is_empty() {
                "-".to_owned()
            } else {
                figures.join(", ")
            },
            step(there),
            ours.unwrap_or_else(|| "-".to_owned()),
            step(here),
        ]);
    }
    format!(
        "{}\nThere: source {source}, {}. Here: {}, {}. A step is the figure over that of the \
         kernel that the source compares it \
         with; `results/h200/reproduce.json`.\n",
        table(&rows),
        text(records[0], "hardware"),
        text(records[0], "device"),
        size(records[0]),
    )
}

/// A sweep: predicted and measured throughput of each point.
pub fn sweeps(kernels: &[&str]) -> String {
    let sweeps: Vec<Value> = kernels
        .iter()
        .map(|kernel| results(&format!("sweep-{kernel}.json")).remove(0))
        .collect();
    let unit = text(&sweeps[0], "unit");
    let mut head = vec!["warps of a multiprocessor".to_owned()];
    for kernel in kernels {
        head.push(format!("`{kernel}`, predicted"));
        head.push("measured".to_owned());
    }
    let mut rows = vec![head];
    let points = |sweep: &'_ Value| sweep["points"].as_array().expect("points").clone();
    for (index, point) in points(&sweeps[0]).iter().enumerate() {
        let mut row = vec![point["x"].to_string()];
        for sweep in &sweeps {
            let point = &points(sweep)[index];
            for field in ["predicted", "measured"] {
                row.push(format!(
                    "{:.0}",
                    number(point, field).expect("a throughput")
                ));
            }
        }
        rows.push(row);
    }
    format!(
        "{}\n{unit} on an {}; `results/h200/sweep-*.json`.\n",
        table(&rows),
        text(&sweeps[0], "device"),
    )
}

/// A kernel beside its peer: how many times as fast, by size.
pub fn compared(file: &str) -> String {
    let records = results(file);
    let head = ["kernel", "size", "ms", "peer", "peer's ms", "times as fast"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for record in &records {
        let ms = |field| significant(number(record, field).expect("a time"));
        rows.push(vec![
            format!("`{}`", text(record, "kernel")),
            size(record),
            ms("median_ms"),
            text(record, "peer").to_owned(),
            ms("peer_ms"),
            format!("{:.2}", number(record, "ratio").expect("a ratio")),
        ]);
    }
    format!(
        "{}\nIn turn on one {}; `results/h200/{file}`.\n",
        table(&rows),
        text(&records[0], "device"),
    )
}

/// What `warpladder calibrate` measured, by name.
pub fn calibrated(names: &[(&str, &str)]) -> String {
    let kept = root().join("host/models/src/devices/h200.json");
    let calibration = &read_results(&kept)[0];
    let figures = calibration["figures"].as_array().expect("figures");
    let mut rows = vec![["what", "measured", "unit"].map(str::to_owned).to_vec()];
    for (name, what) in names {
        let found = figures.iter().find(|figure| text(figure, "name") == *name);
        let found = found.unwrap_or_else(|| panic!("{name} was not measured"));
        rows.push(vec![
            (*what).to_owned(),
            significant(number(found, "median").expect("a figure")),
            text(found, "unit").to_owned(),
        ]);
    }
    format!(
        "{}\n{}; `host/models/src/devices/h200.json`.\n",
        table(&rows),
        text(calibration, "device"),
    )
}

//! JSON and CSV: exactly the documented fields, and nothing else on that stream.

use super::{emulate, is_kernel, parse, warpladder};
use serde_json::Value;
use warpladder_lab::catalogue::{self, Implementation};

/// The fields of a record of `--json` and `--csv`, in order.
const RECORD: [&str; 49] = [
    "schema",
    "kernel",
    "family",
    "source",
    "element",
    "m",
    "n",
    "k",
    "ran",
    "generation",
    "engine",
    "device",
    "ok",
    "check",
    "error",
    "tolerance",
    "cache",
    "samples",
    "stopped",
    "median_ms",
    "low_ms",
    "high_ms",
    "min_ms",
    "max_ms",
    "noise_pct",
    "gflops",
    "gbs",
    "host_to_host_ms",
    "outer_ms",
    "inner_ms",
    "driver",
    "clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "power_w",
    "power_limit_w",
    "throttled",
    "complaint",
    "roof_pct",
    "emulator_ms",
    "predicted_device",
    "predicted_m",
    "predicted_n",
    "predicted_k",
    "predicted_ms",
    "predicted_gflops",
    "predicted_gbs",
    "predicted_bound",
    "predicted_roof_pct",
];

/// What a record of `--json` has after them.
const DETAILS: [&str; 4] = ["times_ms", "baseline", "emulator_times_ms", "step"];

/// The fields of an entry of `list --json`, in order.
const ENTRY: [&str; 13] = [
    "name",
    "family",
    "source",
    "summary",
    "element",
    "operation",
    "block",
    "tile",
    "precondition",
    "sizes",
    "compute_capability",
    "dispatches_to",
    "engines",
];

/// The keys of an object in the order of the text, which a parsed object does not keep.
fn keys(json: &str) -> Vec<&str> {
    json.lines()
        .filter_map(|line| line.strip_prefix("      \"")?.split_once("\": "))
        .map(|(key, _)| key)
        .collect()
}

#[test]
fn json_on_standard_output_has_the_documented_fields_alone() {
    let ended = emulate("--kernel naive --shape 3x4x5 --reps 2 --json -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.lines().last(), Some("1 check passed"));
    assert_eq!(keys(&ended.stdout), [&RECORD[..], &DETAILS].concat());
    let records = parse(&ended.stdout);
    let [record] = &records[..] else {
        panic!("{records:?}");
    };
    for (field, value) in [
        ("schema", 3.into()),
        ("kernel", "naive".into()),
        ("family", "matmul".into()),
        ("element", "f32".into()),
        ("m", 3.into()),
        ("n", 4.into()),
        ("k", 5.into()),
        ("ran", Value::Null),
        ("engine", "emulator".into()),
        ("ok", true.into()),
        ("check", "nalgebra".into()),
        ("samples", 2.into()),
        ("stopped", "reps".into()),
        ("cache", Value::Null),
        ("baseline", Value::Null),
        ("complaint", Value::Null),
    ] {
        assert_eq!(record[field], value, "{field}");
    }
    let number = |field: &str| {
        record[field]
            .as_f64()
            .unwrap_or_else(|| panic!("{field}: {record}"))
    };
    assert!(number("error") <= number("tolerance"));
    // What the emulator took is no time of a device, and has no rates.
    for field in [
        "median_ms",
        "min_ms",
        "max_ms",
        "gflops",
        "gbs",
        "host_to_host_ms",
    ] {
        assert_eq!(record[field], Value::Null, "{field}");
    }
    assert!(number("emulator_ms") > 0.0);
    assert_eq!(record["emulator_times_ms"].as_array().unwrap().len(), 2);
    // What the model says is of another device, and named so.
    assert_eq!(record["predicted_device"], "H200");
    let predicted = ["predicted_m", "predicted_n", "predicted_k"].map(number);
    assert_eq!(predicted, [3.0, 4.0, 5.0]);
    rates_are_those_of_the_time(record, "predicted_");
}

/// Asserts the rates of a product of 3 × 4 × 5.
fn rates_are_those_of_the_time(record: &Value, prefix: &str) {
    let number = |field: &str| record[format!("{prefix}{field}")].as_f64().unwrap();
    let ms = match prefix {
        "" => number("median_ms"),
        _ => number("ms"),
    };
    let gflops = 2.0 * 3.0 * 4.0 * 5.0 / (ms * 1e-3) * 1e-9;
    assert!((number("gflops") / gflops - 1.0).abs() < 1e-9);
    let gbs = 4.0 * (15.0 + 20.0 + 12.0) / (ms * 1e-3) * 1e-9;
    assert!((number("gbs") / gbs - 1.0).abs() < 1e-9);
}

#[test]
fn what_the_cpu_computes_itself_is_measured() {
    let ended = emulate("--kernel cpu_naive --shape 3x4x5 --reps 2 --json -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let record = &parse(&ended.stdout)[0];
    let number = |field: &str| record[field].as_f64().unwrap();
    assert_eq!(record["engine"], "cpu");
    assert!(number("min_ms") <= number("median_ms") && number("median_ms") <= number("max_ms"));
    assert!(number("noise_pct") >= 0.0);
    rates_are_those_of_the_time(record, "");
    for field in ["emulator_ms", "predicted_ms"] {
        assert_eq!(record[field], Value::Null, "{field}");
    }
}

#[test]
fn csv_on_standard_output_has_the_documented_fields_alone() {
    let ended = emulate("--kernel wolfe_dispatch,cpu_naive --shape 5 --csv -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.lines().last(), Some("all 2 checks passed"));
    let mut reader = csv::Reader::from_reader(ended.stdout.as_bytes());
    assert_eq!(reader.headers().unwrap(), &RECORD[..]);
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let column = |row: usize, name: &str| {
        let index = RECORD.iter().position(|field| *field == name).unwrap();
        rows[row][index].to_owned()
    };
    assert_eq!(rows.len(), 2);
    assert_eq!(column(0, "ran"), "wolfe_k4_guarded");
    assert_eq!(column(0, "engine"), "emulator");
    assert_eq!(column(1, "engine"), "cpu");
    assert_eq!(column(1, "ran"), "");
    assert_eq!(column(1, "ok"), "true");
}

#[test]
fn list_names_every_kernel_with_the_documented_fields() {
    let ended = warpladder("list --json");
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    let entries = parse(&ended.stdout);
    assert_eq!(entries.len(), catalogue::rungs().count());
    let fields = keys(&ended.stdout);
    assert_eq!(fields.len(), ENTRY.len() * entries.len());
    assert!(fields.chunks(ENTRY.len()).all(|fields| fields == ENTRY));
    let text = warpladder("list");
    assert_eq!((text.status, text.stderr.as_str()), (Some(0), ""));
    let wide = warpladder("list --wide");
    assert_eq!((wide.status, wide.stderr.as_str()), (Some(0), ""));
    for (rung, entry) in catalogue::rungs().zip(&entries) {
        assert_eq!(entry["name"], rung.name);
        // A plan's block depends on the size.
        let has_geometry = matches!(rung.implementation, Implementation::Kernel { .. });
        assert_eq!(entry["block"].is_array(), has_geometry, "{entry}");
        let has_capability = entry["compute_capability"].is_number();
        assert_eq!(has_capability, is_kernel(rung), "{entry}");
        let row = format!(" {} ", rung.name);
        assert!(
            text.stdout.lines().any(|line| line.starts_with(&row)),
            "no row {row:?}"
        );
        let sizes = entry["sizes"].as_str().unwrap();
        assert!(
            wide.stdout
                .lines()
                .any(|line| line.starts_with(&row) && line.contains(sizes)),
            "no wide row {row:?}"
        );
    }
}

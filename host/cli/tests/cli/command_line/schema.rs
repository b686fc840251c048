//! What `--json` writes is what `warpladder schema` says.

use super::{Folder, warpladder};
use serde_json::{Value, json};
use std::path::Path;
use warpladder_lab::compare::PeerComparison;
use warpladder_lab::results::{Envelope, SCHEMA};

/// The schema, as the program prints it.
fn validator() -> jsonschema::Validator {
    let ended = warpladder("schema");
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""));
    let schema: Value = serde_json::from_str(&ended.stdout).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn complaints(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    let errors = validator.iter_errors(value);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .take(5)
        .collect()
}

/// Commands that need no GPU, each with what it writes as JSON on standard output.
const COMMANDS: &[&str] = &[
    "run --engine emulator --family transpose --shape 32,64 --reps 1 --json -",
    "run --engine emulator --shape 9x7x5 --device none --json -",
    "run --engine emulator --kernel naive,tiled_16 --random 2 --device none --json -",
    "list --json",
    "devices --json",
    "predict naive,transpose_padded,sgemm,wgmma_bf16 --shape 64 --json -",
    "explain naive --shape 64 --json -",
    "explain transpose_coalesced --shape 64 --json -",
    "profile naive --shape 32,16x8x4 --json -",
    "profile wolfe_dispatch --shape 32 --json -",
    "sanitize naive,wolfe_dispatch --json -",
    "sweep matvec_lcs --device V100 --json -",
    "reproduce --engine emulator --source 003 --shape 32 --json -",
    "reproduce --engine emulator --source 000 --shape 128 --reps 1 --json -",
    "tune --engine emulator --shape 48 --reps 1 --dry-run --json -",
    "scale run --emulate 2 --shape 9x7x5 --repetitions 1 --json -",
    "scale gemm --random 9x7x5 --device-memory 256 --emulate --json -",
    "scale predict --gpus 1,16 --json -",
    "scale links --emulate 2 --max-bytes 4KiB --repetitions 1 --json -",
];

#[test]
fn every_command_writes_what_the_schema_says() {
    let validator = validator();
    for args in COMMANDS {
        let ended = warpladder(args);
        assert_eq!(ended.status, Some(0), "{args}: {ended:?}");
        let written: Value = serde_json::from_str(&ended.stdout).unwrap();
        let command = args.split(' ').next().unwrap();
        assert_eq!(written["command"], command);
        let wrong = complaints(&validator, &written);
        assert!(wrong.is_empty(), "{args}: {wrong:#?}");
    }
}

/// What commands wrote that need a GPU: files of older versions, whose records are those of now.
#[test]
fn what_a_gpu_gave_is_what_the_schema_says() {
    let validator = validator();
    let root = Path::new(warpladder::SOURCE_ROOT);
    let files = [
        ("compare", "results/h200/compare-sgemm-shapes.json"),
        ("compare", "results/h200/compare-transpose.json"),
        ("sweep", "results/h200/sweep-matvec_lcs.json"),
        ("reproduce", "results/h200/reproduce.json"),
        ("devices", "results/h200/devices.json"),
        ("calibrate", "host/models/src/devices/h200.json"),
    ];
    for (command, file) in files {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let records: Vec<Value> = warpladder_lab::results::read(&text).unwrap();
        let envelope = json!({
            "schema": 3, "command": command, "version": "0.1.0", "complete": true,
            "records": records,
        });
        // Layouts, and fields that came later, are not in all of them.
        let wrong = complaints(&validator, &envelope);
        assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    }
}

/// `compare` needs a GPU: its records here are made up, with fields of now, and the summary is the
/// program's own.
#[test]
fn a_comparison_and_its_summary_are_what_the_schema_says() {
    let validator = validator();
    let root = Path::new(warpladder::SOURCE_ROOT);
    let text = std::fs::read_to_string(root.join("results/h200/compare-sgemm-shapes.json"));
    let mut records: Vec<Value> = warpladder_lab::results::read(&text.unwrap()).unwrap();
    records[0]["heuristics"] = json!({
        "tried": 20, "best": 3, "workspace_bytes": 1024, "first_ms": null, "best_ms": 0.5,
    });
    records[0]["other_peer"] = json!({"peer": "cuBLAS 13.1.0", "ms": 0.6});
    (records[0]["rounds"], records[0]["first_ratio"]) = (json!(4), json!(0.9));
    (records[0]["check"], records[0]["error"]) = (json!("freivalds"), json!(null));
    let records = records.into_iter().map(serde_json::from_value);
    let records: Vec<PeerComparison> = records.collect::<Result<_, _>>().unwrap();
    let summaries = warpladder_lab::compare::summaries(&records);
    // All layouts together, and each alone.
    assert!(summaries.len() > 2 && summaries[0].problems == records.len());
    let envelope = |command, summary| Envelope {
        schema: SCHEMA,
        command,
        version: "0.1.0",
        complete: true,
        summary,
        records: &records[..1],
    };
    let summary = serde_json::to_value(&summaries).unwrap();
    let written = serde_json::to_value(envelope("compare", Some(summary))).unwrap();
    let wrong = complaints(&validator, &written);
    assert!(wrong.is_empty(), "{wrong:#?}");

    let mut wrong = written.clone();
    wrong["summary"][0]["ahead"] = json!(1.5);
    assert!(!validator.is_valid(&wrong));
    let mut other = written;
    (other["command"], other["records"]) = (json!("tune"), json!([]));
    assert!(!validator.is_valid(&other), "only compare has a summary");
}

#[test]
fn a_saved_run_and_a_comparison_with_it_are_what_the_schema_says() {
    let folder = Folder::new("schema-baseline");
    let (before, now) = (folder.file("before.json"), folder.file("now.json"));
    let run = "run --engine emulator --kernel naive,tiled_16 --shape 16 --reps 6";
    assert_eq!(
        warpladder(&format!("{run} --json {before}")).status,
        Some(0)
    );
    warpladder(&format!(
        "{run} --baseline {before} --floor 900 --json {now}"
    ));
    let validator = validator();
    for file in [before, now] {
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let wrong = complaints(&validator, &written);
        assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    }
}

/// What is changed, and how.
type Change = (&'static str, fn(&mut Value));

#[test]
fn the_schema_refuses_what_no_command_writes() {
    let validator = validator();
    let ended = warpladder("run --engine emulator --kernel naive --shape 8 --json -");
    let right: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(validator.is_valid(&right));
    let changes: [Change; 6] = [
        ("another version", |value| value["schema"] = json!(2)),
        ("another command", |value| value["command"] = json!("fly")),
        ("another command's records", |value| {
            value["command"] = json!("sweep")
        }),
        ("an unknown field", |value| {
            value["records"][0]["speed"] = json!(1)
        }),
        ("a time that is no number", |value| {
            value["records"][0]["median_ms"] = json!("fast");
        }),
        ("a field that is missing", |value| {
            value["records"][0]
                .as_object_mut()
                .unwrap()
                .remove("predicted_ms");
        }),
    ];
    for (what, change) in changes {
        let mut wrong = right.clone();
        change(&mut wrong);
        assert!(!validator.is_valid(&wrong), "{what}");
    }
}

#[test]
fn every_command_and_every_field_of_run_and_compare_is_documented() {
    let root = Path::new(warpladder::SOURCE_ROOT);
    let document = std::fs::read_to_string(root.join("docs/results.md")).unwrap();
    let schema: Value = serde_json::from_str(&warpladder("schema").stdout).unwrap();
    let commands = schema["properties"]["command"]["enum"].as_array().unwrap();
    for command in commands {
        let row = format!("| `{}` |", command.as_str().unwrap());
        assert!(document.contains(&row), "{row}");
    }
    for definition in ["record_of_run", "record_of_compare", "summary_of_compare"] {
        let fields = schema["$defs"][definition]["properties"].as_object();
        for field in fields.unwrap().keys() {
            assert!(document.contains(&format!("`{field}`")), "{field}");
        }
    }
}

//! Tests of the program, and of what is made with it: the README, the book, tables in `docs`.

mod advice;
mod book;
mod command_line;
#[cfg(target_os = "linux")]
mod cuda;
mod debug;
mod emulate;
#[cfg(all(target_os = "linux", feature = "gpu"))]
#[path = "../../../../cuda_driver/tests/fake_driver/mod.rs"]
mod fake_driver;
mod findings;
mod learn;
mod new;
#[path = "../../../../tests/library/outside.rs"]
mod outside;
mod predictions;
mod readme;
mod report;
mod reproduce;
mod sanitize;
mod source_gpus;

/// The records in the envelope that every command's `--json` writes, all that were asked for.
fn records(json: &[u8]) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(json);
    let mut envelope: serde_json::Value =
        serde_json::from_slice(json).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(envelope["schema"], 3, "{text}");
    assert_eq!(envelope["complete"], true, "{text}");
    assert!(envelope["command"].is_string(), "{text}");
    match envelope["records"].take() {
        serde_json::Value::Array(records) => records,
        other => panic!("{other}"),
    }
}

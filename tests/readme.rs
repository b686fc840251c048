//! The tables in the README are those of the results that are kept in the repository.
//!
//! `WARPLADDER_UPDATE=1 cargo test --test readme` writes them.

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The table of one run, with the device that it ran on above it.
fn table(folder: &Path) -> String {
    let devices = read_json(&folder.join("devices.json"));
    let device = &devices[0];
    let mut text = String::new();
    writeln!(
        text,
        "{}, compute capability {:.1}, {} multiprocessors at up to {} MHz, CUDA {}. The medians of one run each of \
         `warpladder --json` at the sizes shown; the files are in `{}`.\n",
        device["name"].as_str().unwrap(),
        device["compute_capability"].as_f64().unwrap() / 10.0,
        device["multiprocessors"],
        device["clock_khz"].as_u64().unwrap() / 1000,
        device["cuda_version"].as_str().unwrap(),
        folder.strip_prefix(root()).unwrap().display(),
    )
    .unwrap();
    writeln!(
        text,
        "| kernel | size | ms | noise % | GFLOP/s | GB/s | host to host, ms |"
    )
    .unwrap();
    writeln!(text, "|---|---|--:|--:|--:|--:|--:|").unwrap();
    for file in ["run.json", "run-2048.json"] {
        for record in read_json(&folder.join(file)).as_array().unwrap() {
            assert_eq!(record["ok"], true, "{record}");
            let number = |field: &str, digits: usize| match record[field].as_f64() {
                Some(value) => format!("{value:.digits$}"),
                None => String::new(),
            };
            let size = ["m", "n", "k"].map(|name| record[name].as_u64().map(|x| x.to_string()));
            let size: Vec<String> = size.into_iter().flatten().collect();
            writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} | {} |",
                record["kernel"].as_str().unwrap(),
                size.join(" × "),
                number("median_ms", 4),
                number("noise_pct", 1),
                number("gflops", 0),
                number("gbs", 0),
                number("host_to_host_ms", 1),
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn the_table_is_that_of_the_results() {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- h200 -->\n", "<!-- /h200 -->");
    let start = readme.find(begin).unwrap() + begin.len();
    let stop = readme.find(end).unwrap();
    let expected = format!("\n{}\n", table(&root().join("results/h200")));
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(
            &path,
            format!("{}{expected}{}", &readme[..start], &readme[stop..]),
        )
        .unwrap();
        return;
    }
    assert_eq!(
        &readme[start..stop],
        expected,
        "run `WARPLADDER_UPDATE=1 cargo test --test readme`"
    );
}

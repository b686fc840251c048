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

/// The ratios of the comparisons: a row for each kernel and peer, a column for each size.
fn ratios(folder: &Path) -> String {
    let mut text = "| kernel | peer | size: ratio |\n|---|---|---|\n".to_owned();
    for file in ["sgemm", "dgemm", "wgmma", "transpose"] {
        let records = read_json(&folder.join(format!("compare-{file}.json")));
        let records = records.as_array().unwrap();
        for of_kernel in records.chunk_by(|a, b| a["kernel"] == b["kernel"]) {
            let cells: Vec<String> = of_kernel
                .iter()
                .map(|record| {
                    assert_eq!(record["ok"], true, "{record}");
                    let extents = ["m", "n", "k"].map(|name| record[name].as_u64());
                    let mut extents: Vec<u64> = extents.into_iter().flatten().collect();
                    // A cube or a square is one number.
                    extents.dedup();
                    let size: Vec<String> = extents.iter().map(u64::to_string).collect();
                    format!(
                        "{}: {:.2}",
                        size.join(" × "),
                        record["ratio"].as_f64().unwrap()
                    )
                })
                .collect();
            let (kernel, peer) = (&of_kernel[0]["kernel"], &of_kernel[0]["peer"]);
            let (kernel, peer) = (kernel.as_str().unwrap(), peer.as_str().unwrap());
            writeln!(text, "| `{kernel}` | {peer} | {} |", cells.join("; ")).unwrap();
        }
    }
    text
}

/// What stands in the README between two markers must be `text`.
fn check(marker: &str, text: &str) {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (
        format!("<!-- {marker} -->\n"),
        format!("<!-- /{marker} -->"),
    );
    let start = readme.find(&begin).unwrap() + begin.len();
    let stop = readme.find(&end).unwrap();
    let expected = format!("\n{text}\n");
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        let written = format!("{}{expected}{}", &readme[..start], &readme[stop..]);
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert_eq!(
        &readme[start..stop],
        expected,
        "run `WARPLADDER_UPDATE=1 cargo test --test readme`"
    );
}

#[test]
fn the_tables_are_those_of_the_results() {
    let folder = root().join("results/h200");
    check("h200", &table(&folder));
    check("compare", &ratios(&folder));
}

//! The tables in the README, in docs/h200.md, docs/h100.md and docs/scale.md are those of the
//! results that are kept in the repository, and the output that the README shows is the program's.
//!
//! `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli readme` writes them.

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rungs of the README's table, all at 4096.
const SHORT: [&str; 12] = [
    "naive_uncoalesced",
    "naive",
    "tiled_32",
    "register_blocked",
    "sgemm",
    "dgemm",
    "mma_bf16",
    "wgmma_bf16",
    "copy_vec4",
    "transpose_naive",
    "transpose_fast",
    "matvec_fast",
];

fn root() -> PathBuf {
    PathBuf::from(warpladder::SOURCE_ROOT)
}

fn read_json(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    warpladder_lab::results::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The table of these files of one run, with the device that it ran on above it.
fn table(folder: &Path, files: &[&str], shown: impl Fn(&str) -> bool) -> String {
    let devices = read_json(&folder.join("devices.json"));
    let device = &devices[0];
    let mut text = String::new();
    writeln!(
        text,
        "{}, compute capability {:.1}, {} multiprocessors at up to {} MHz, CUDA {}.\n\
         The medians of one run each of `warpladder --json` at the sizes shown;\n\
         the files are in `{}`.\n",
        device["name"].as_str().unwrap(),
        device["compute_capability"].as_f64().unwrap() / 10.0,
        device["multiprocessors"],
        device["clock_khz"].as_u64().unwrap() / 1000,
        device["cuda_version"].as_str().unwrap(),
        folder.strip_prefix(root()).unwrap().display(),
    )
    .unwrap();
    text + &rows(folder, files, shown)
}

/// The rows alone.
fn rows(folder: &Path, files: &[&str], shown: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    writeln!(
        text,
        "| kernel | size | ms | noise % | GFLOP/s | GB/s | host to host, ms |"
    )
    .unwrap();
    writeln!(text, "|---|---|--:|--:|--:|--:|--:|").unwrap();
    let records = files.iter().flat_map(|file| read_json(&folder.join(file)));
    for record in records.filter(|record| shown(record["kernel"].as_str().unwrap())) {
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
    text
}

/// A console with commands of the program and what they print, where that is the same on every
/// machine.
fn console(commands: &[&str], columns: Option<u32>) -> String {
    let mut text = "```console\n".to_owned();
    for command in commands {
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("warpladder"));
        let arguments = words.take_while(|word| *word != "|");
        let lines = command.split_once(" | head -");
        let lines = lines.map_or(usize::MAX, |(_, lines)| lines.parse().unwrap());
        let arguments = arguments.map(|word| word.trim_matches('\''));
        let mut program = Command::new(env!("CARGO_BIN_EXE_warpladder"));
        if let Some(columns) = columns {
            program.env("COLUMNS", columns.to_string());
        }
        let output = program.args(arguments).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        writeln!(text, "$ {command}").unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        for line in printed.lines().take(lines) {
            writeln!(text, "{}", line.trim_end()).unwrap();
        }
    }
    text + "```\n"
}

/// Lines of a run without what differs from machine to machine: the processor, and the column of
/// what it took, which is the last.
pub fn without_times_of_the_cpu(text: &str) -> String {
    let mut lines = Vec::new();
    let mut column = None;
    for line in text.lines() {
        if line.starts_with("emulator on ") {
            lines.push("emulator on … CPU cores".to_owned());
            continue;
        }
        if line.starts_with("kernel ") && line.ends_with("CPU ms") {
            column = Some(line.chars().count());
            lines.push(line.to_owned());
            continue;
        }
        // Rows end where their header ends.
        let is_row = column == Some(line.chars().count()) && line.contains(" ok ");
        if !is_row {
            column = column.filter(|_| line.contains(" ok "));
            lines.push(line.to_owned());
            continue;
        }
        let (rest, _) = line.rsplit_once(' ').unwrap();
        let width = line.chars().count();
        lines.push(format!("{:<1$}…", rest.trim_end(), width - 1));
    }
    lines.join("\n") + "\n"
}

/// The ratios of the comparisons: a row for each kernel and peer, a column for each size.
fn ratios(folder: &Path, files: &[&str]) -> String {
    let mut text = "| kernel | peer | size: ratio |\n|---|---|---|\n".to_owned();
    for file in files {
        let records = read_json(&folder.join(format!("compare-{file}.json")));
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

/// The summaries of the comparisons over random sizes: a row for each kernel and distribution.
fn random_ratios(folder: &Path) -> String {
    let mut text =
        "| kernel | extents | sizes | mean | least | quartiles | ahead |\n|---|---|--:|--:|--:|---|--:|\n"
            .to_owned();
    for (start, extents) in [
        ("", "16 to 8192"),
        ("aligned-", "multiples of 64 to 16384"),
        ("aligned-16-", "multiples of 16 to 16384"),
        ("aligned-8-", "multiples of 8 to 8192"),
    ] {
        for kernel in [
            "sgemm",
            "dgemm",
            "wgmma_bf16",
            "wgmma_bf16_narrow",
            "wgmma_f16",
            "wgmma_tf32",
            "gemm_mma_bf16",
            "gemm_mma_f16",
            "gemm_mma_tf32",
            "gemm_f32_split",
            "wgmma_fp8",
        ] {
            let path = folder.join(format!("compare-random-{start}{kernel}.json"));
            let Ok(file) = std::fs::read_to_string(path) else {
                continue;
            };
            let run: serde_json::Value = serde_json::from_str(&file).unwrap();
            // The first summary is that of all layouts.
            let summary = &run["summary"][0];
            assert_eq!(summary["kernel"], kernel);
            let number = |name: &str| summary[name].as_f64().unwrap();
            writeln!(
                text,
                "| `{kernel}` | {extents} | {} | {:.2} | {:.2} | {:.2}, {:.2}, {:.2} | {:.0} % |",
                summary["problems"],
                number("mean"),
                number("least"),
                number("low"),
                number("median"),
                number("high"),
                100.0 * number("ahead"),
            )
            .unwrap();
        }
    }
    text
}

/// Products on one GPU and on two: a row for each product and way, with t₁/(2·t₂), or t₁/t₂ where
/// the second GPU has a product of its own size.
fn scaling(folder: &Path) -> String {
    let mut text = "| element | size | exchange | chunks | 1 GPU, ms | 2 GPUs, ms | efficiency | \
                    exchanges hidden |\n|---|---|---|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let records: Vec<Value> = ["scale.json", "scale-nccl.json"]
        .iter()
        .flat_map(|file| read_json(&folder.join(file)))
        .collect();
    let ms = |record: &Value| {
        let outcomes = record["outcomes"].as_array().unwrap();
        for outcome in outcomes {
            assert_eq!(outcome["wrong_rows"], 0, "{record}");
            assert_eq!(outcome["received_bytes"], outcome["formula_bytes"]);
        }
        let seconds = outcomes.iter().map(|of| of["seconds"].as_f64().unwrap());
        seconds.fold(0.0, f64::max) * 1e3
    };
    for record in records.iter().filter(|record| record["ranks"] == 2) {
        let [m, n, k] = ["m", "n", "k"].map(|extent| record[extent].as_u64().unwrap());
        // Weak scaling: twice the rows.
        let gpus_of_one = if m == 2 * k { 1.0 } else { 2.0 };
        let alone = records.iter().find(|alone| {
            let same = ["n", "k", "element"]
                .iter()
                .all(|of| alone[of] == record[of]);
            same && alone["ranks"] == 1 && alone["m"] == n
        });
        let (one, two) = (ms(alone.unwrap()), ms(record));
        writeln!(
            text,
            "| {} | {m} × {n} × {k} | {}, {} | {} | {one:.3} | {two:.3} | {:.3} | {:.0} % |",
            record["element"].as_str().unwrap(),
            record["algorithm"].as_str().unwrap(),
            record["exchange"].as_str().unwrap(),
            record["chunks"],
            one / (gpus_of_one * two),
            100.0 * record["hidden"].as_f64().unwrap(),
        )
        .unwrap();
    }
    let torch = std::fs::read_to_string(folder.join("scale-torch.json")).unwrap();
    let torch: Value = serde_json::from_str(&torch).unwrap();
    for record in torch["records"].as_array().unwrap() {
        let number = |name: &str| record[name].as_f64().unwrap();
        writeln!(
            text,
            "| {} | {}³ | PyTorch {}, all-gather and `mm` | 1 | {:.3} | {:.3} | {:.3} | |",
            record["type"]
                .as_str()
                .unwrap()
                .trim_start_matches("torch."),
            record["n"],
            torch["torch"].as_str().unwrap(),
            number("one_gpu_ms"),
            number("ms"),
            number("efficiency"),
        )
        .unwrap();
    }
    text
}

/// Attention by warpgroups beside the fastest of PyTorch's implementations in the same run.
fn attention(folder: &Path) -> String {
    let mut text = "| keys | width | causal | ms | PyTorch | its ms | ratio |\n\
                    |--:|--:|---|--:|---|--:|--:|\n"
        .to_owned();
    let torch = std::fs::read_to_string(folder.join("attention-torch.json")).unwrap();
    let torch: Value = serde_json::from_str(&torch).unwrap();
    let ms = |record: &Value| record["ms"].as_f64().unwrap();
    for record in read_json(&folder.join("run-attention.json")) {
        let kernel = record["kernel"].as_str().unwrap();
        if !kernel.starts_with("attention_wgmma") {
            continue;
        }
        assert_eq!(record["device"], torch["device"]);
        let causal = kernel.ends_with("_causal");
        let same = |other: &&Value| {
            [&other["keys"], &other["width"]] == [&record["k"], &record["n"]]
                && other["causal"] == causal
        };
        let all = torch["records"].as_array().unwrap().iter().filter(same);
        let best = all.min_by(|a, b| ms(a).total_cmp(&ms(b))).unwrap();
        let own = record["median_ms"].as_f64().unwrap();
        writeln!(
            text,
            "| {} | {} | {} | {own:.4} | {} | {:.4} | {:.2} |",
            record["k"],
            record["n"],
            if causal { "yes" } else { "no" },
            best["backend"].as_str().unwrap(),
            ms(best),
            ms(best) / own,
        )
        .unwrap();
    }
    text
}

/// What CUB and the driver take for as many elements as the runs of sums and scans have.
fn cub(folder: &Path) -> String {
    let mut text = "| | ms | GB/s |\n|---|--:|--:|\n".to_owned();
    let cub = std::fs::read_to_string(folder.join("cub.json")).unwrap();
    let cub: Value = serde_json::from_str(&cub).unwrap();
    for record in cub["records"].as_array().unwrap() {
        writeln!(
            text,
            "| {} | {:.4} | {:.0} |",
            record["what"].as_str().unwrap(),
            record["ms"].as_f64().unwrap(),
            record["gbs"].as_f64().unwrap(),
        )
        .unwrap();
    }
    text
}

/// Products larger than the memory that they were given.
fn out_of_core(folder: &Path) -> String {
    let mut text = "| element | size | matrices are | limit | peak | moved over the bound | s | \
                    TFLOP/s |\n|---|---|---|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for record in read_json(&folder.join("out-of-core.json")) {
        assert_eq!(record["ok"], true, "{record}");
        let moved = &record["moved"];
        let gib = |name: &str| moved[name].as_f64().unwrap() / f64::from(1 << 30);
        let pinned = record["pinned"].as_bool().unwrap();
        writeln!(
            text,
            "| {} | {}³ | {} | {:.1} GiB | {:.1} GiB | {:.2} | {:.3} | {:.1} |",
            record["element"].as_str().unwrap(),
            record["m"],
            if pinned { "page-locked" } else { "pageable" },
            gib("limit_bytes"),
            gib("peak_bytes"),
            record["moved_elements"].as_f64().unwrap() / moved["least_elements"].as_f64().unwrap(),
            moved["seconds"].as_f64().unwrap(),
            record["tflops"].as_f64().unwrap(),
        )
        .unwrap();
    }
    text
}

/// Links, by the copies of one process and by NCCL.
fn links(folder: &Path) -> String {
    let mut text = "| bytes | exchange by copies, µs | by NCCL, µs | all-gather by copies, GB/s | \
                    by NCCL, GB/s |\n|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let records = read_json(&folder.join("links.json"));
    let samples = |record: &Value| record["samples"].as_array().unwrap().clone();
    for (copies, nccl) in samples(&records[0]).iter().zip(samples(&records[1])) {
        let us = |of: &Value| of["exchange_seconds"].as_f64().unwrap() * 1e6;
        let gbs = |of: &Value| of["all_gather_bus_gbs"].as_f64().unwrap();
        writeln!(
            text,
            "| {} | {:.0} | {:.0} | {:.1} | {:.1} |",
            copies["bytes"],
            us(copies),
            us(&nccl),
            gbs(copies),
            gbs(&nccl)
        )
        .unwrap();
    }
    text
}

/// What stands in a file between two markers must be `text`.
fn check(file: &str, marker: &str, text: &str) {
    let path = root().join(file);
    let document = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (
        format!("<!-- {marker} -->\n"),
        format!("<!-- /{marker} -->"),
    );
    let start = document.find(&begin).unwrap() + begin.len();
    let stop = document.find(&end).unwrap();
    let expected = format!("\n{text}\n");
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        let written = format!("{}{expected}{}", &document[..start], &document[stop..]);
        std::fs::write(&path, written).unwrap();
        return;
    }
    assert_eq!(
        &document[start..stop],
        expected,
        "{file}: run `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli readme`"
    );
}

/// The ladder of f32 products, as `warpladder plot ladder` draws it from the results that ship.
fn picture() -> String {
    let data = warpladder_report::Data::shipped().unwrap();
    let plots = warpladder_report::ladders(&data);
    let of_products = plots.iter().find(|plot| plot.name == "ladder-products-f32");
    of_products.unwrap().file().unwrap()
}

#[test]
fn the_picture_is_that_of_the_results() {
    let path = root().join("docs/ladder.svg");
    if std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(&path, picture()).unwrap();
        return;
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|drawn| drawn == picture()),
        "docs/ladder.svg: run `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli readme`"
    );
}

/// The numbers of kernels that the README explains.
#[test]
fn the_numbers_of_kernels_are_those_of_the_program() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let in_program: usize = warpladder::ptx::MODULES
        .iter()
        .map(|module| module.entries().count())
        .sum();
    let listed = warpladder_lab::catalogue::rungs().count();
    let words = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = format!("It counts {in_program} kernels and `warpladder list` shows {listed}:");
    assert!(words.contains(&said), "{said}");
}

/// A run without what differs from machine to machine: the processor, and what it took.
fn ladder() -> String {
    let command = "warpladder run --engine emulator --kernel 'naive*,tiled_32,outputs_8,sgemm' \
                   --exclude '*_f64'";
    console(&[command], Some(100))
}

// One test, not several: they would write the same file at the same time.
#[test]
fn tables_and_output_are_those_of_the_results_and_of_the_program() {
    let folder = root().join("results/h200");
    let all = ["run.json", "run-2048.json"];
    check("docs/h200.md", "h200", &table(&folder, &all, |_| true));
    let products = ["sgemm", "dgemm", "wgmma", "gemm_f32_split", "transpose"];
    check("docs/h200.md", "compare", &ratios(&folder, &products));
    check("docs/h200.md", "random", &random_ratios(&folder));
    let h100 = root().join("results/h100");
    let of_h100 = [
        "run-families.json",
        "run-attention.json",
        "run-mma.json",
        "run-8bit.json",
    ];
    check("docs/h100.md", "runs", &rows(&h100, &of_h100, |_| true));
    check("docs/h100.md", "random", &random_ratios(&h100));
    check("docs/h100.md", "attention", &attention(&h100));
    check("docs/h100.md", "cub", &cub(&h100));
    let fused = std::fs::read_to_string(h100.join("fused.txt")).unwrap();
    check("docs/h100.md", "fused", &format!("```text\n{fused}```\n"));
    check(
        "docs/h100.md",
        "compare",
        &ratios(&h100, &["gemm_f32_split", "8bit"]),
    );
    check("docs/scale.md", "scaling", &scaling(&h100));
    check("docs/scale.md", "links", &links(&h100));
    check("docs/scale.md", "out-of-core", &out_of_core(&h100));
    let short = table(&folder, &all[..1], |kernel| SHORT.contains(&kernel));
    check("README.md", "short", &short);
    check("README.md", "ladder", &without_times_of_the_cpu(&ladder()));
    let profile = "warpladder profile transpose_coalesced --shape 64 | head -10";
    check("README.md", "profile", &console(&[profile], None));
    let predict = ["transpose_coalesced", "transpose_padded"]
        .map(|kernel| format!("warpladder predict {kernel} --device V100 --shape 2048 | head -5"));
    check(
        "README.md",
        "predict",
        &console(&predict.each_ref().map(String::as_str), None),
    );
}

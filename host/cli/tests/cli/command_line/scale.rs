//! `warpladder scale`: on emulated ranks, from files, and the document with what is predicted.

use super::{Folder, warpladder};
use std::fmt::Write;
use std::path::Path;
use warpladder_scale::comm::launch::Launch;
use warpladder_scale::comm::rendezvous::Rendezvous;

/// What `docs/scale.md` shows of the predictions.
const PREDICTED: [&str; 7] = [
    "scale predict --shape 8192 --element bf16 --gpus 1,2,4,8",
    "scale predict --shape 16384 --element bf16 --gpus 1,2,4,8",
    "scale predict --shape 32768 --element bf16 --gpus 1,2,4,8",
    "scale predict --shape 65536 --element bf16 --gpus 1,2,4,8",
    "scale predict --shape 8192 --element f32 --gpus 1,2,4,8",
    "scale predict --shape 16384 --element f32 --gpus 1,2,4,8",
    "scale predict --shape 1048576 --element bf16 --gpus 1,8,64,512,4096,16384",
];

const BEGIN: &str = "<!-- predictions: begin -->\n";
const END: &str = "<!-- predictions: end -->";

#[test]
fn emulated_ranks_are_right_and_move_what_the_formula_says() {
    for (args, ranks) in [
        ("--emulate 1 --shape 17x33x9", 1),
        (
            "--emulate 3 --shape 31x33x47 --element f64 --algorithm reduce-scatter",
            3,
        ),
        (
            "--emulate 6 --shape 45x37x61 --algorithm summa:2x3 --chunks 3",
            6,
        ),
        (
            "--emulate 2 --shape 64x96x32 --element bf16 --c-16bit --algorithm all-gather",
            2,
        ),
        ("--emulate 5 --shape 29", 5),
    ] {
        let ended = warpladder(&format!("scale run {args} --repetitions 1 --json -"));
        assert_eq!(ended.status, Some(0), "{args}: {ended:?}");
        let record = &super::super::records(ended.stdout.as_bytes())[0];
        assert_eq!(
            (&record["kind"], &record["ranks"]),
            (&"trial".into(), &ranks.into())
        );
        let outcomes = record["outcomes"].as_array().unwrap();
        assert_eq!(outcomes.len(), ranks);
        for outcome in outcomes {
            assert_eq!(outcome["received_bytes"], outcome["formula_bytes"]);
            assert_eq!(outcome["wrong_rows"], 0);
        }
        assert!(
            ended.stderr.contains("they say nothing of a GPU"),
            "{ended:?}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (args, part) in [
        (
            "scale run --emulate 4 --algorithm summa:2x3",
            "a grid of 2 x 3",
        ),
        ("scale run --emulate 4 --algorithm cannon", "cannon"),
        ("scale run --emulate 0", "0 ranks cannot be emulated"),
        (
            "scale run --emulate 2 --element bf16 --c-16bit --algorithm reduce-scatter",
            "all-gather",
        ),
        ("scale predict --gpus 0", "0 GPUs cannot be predicted"),
        ("scale gemm --a none.npy --b none.npy", "none.npy"),
        ("scale gemm --a a.bin --b b.bin", "a.bin is a raw file"),
        (
            "scale gemm --random 99 --device-memory 8 --emulate",
            "the smallest tiles take",
        ),
        (
            "scale gemm --random 9 --device-memory 8XB --emulate",
            "the unit is",
        ),
    ] {
        let ended = warpladder(args);
        assert_eq!(ended.status, Some(2), "{args}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(ended.stderr.contains(part), "{part:?} is not in {ended:?}");
    }
}

#[test]
fn raw_files_are_multiplied_within_the_limit() {
    let folder = Folder::new("scale");
    let [a, b, c] = ["a.bin", "b.bin", "c.npy"].map(|name| folder.file(name));
    let bytes = |count: usize| -> Vec<u8> {
        let values = (0..count).map(|index| (index % 7) as f32 - 3.0);
        values.flat_map(f32::to_le_bytes).collect()
    };
    std::fs::write(&a, bytes(61 * 83)).unwrap();
    std::fs::write(&b, bytes(83 * 47)).unwrap();
    let ended = warpladder(&format!(
        "scale gemm --a {a} --b {b} --shape 61x47x83 --element f32 --device-memory 12KiB --emulate \
         --out {c} --json -"
    ));
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let record = &super::super::records(ended.stdout.as_bytes())[0];
    assert_eq!(record["ok"], true);
    let moved = &record["moved"];
    assert!(moved["tiles"].as_u64() > Some(1), "{moved}");
    assert!(moved["tile_bytes"].as_u64() <= Some(12 << 10), "{moved}");
    let written = std::fs::read(&c).unwrap();
    assert!(written.starts_with(b"\x93NUMPY") && written.len() > 4 * 61 * 47);
}

#[test]
fn links_of_emulated_ranks_are_told_apart_from_a_gpus() {
    let ended = warpladder("scale links --emulate 3 --max-bytes 16KiB --repetitions 2 --json -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let record = &super::super::records(ended.stdout.as_bytes())[0];
    assert_eq!(record["emulated"], true);
    assert_eq!(record["samples"].as_array().unwrap().len(), 3);
    assert!(ended.stderr.contains("no link"), "{ended:?}");
}

/// The predictions as the document shows them.
fn predictions() -> String {
    let mut text = String::new();
    for args in PREDICTED {
        let ended = warpladder(args);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let lines = ended.stdout.lines().map(str::trim_end);
        let lines = lines.collect::<Vec<_>>().join("\n");
        _ = write!(text, "```console\n$ warpladder {args}\n{lines}\n```\n\n");
    }
    text
}

/// `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli scale` writes the document.
#[test]
fn the_document_shows_what_is_predicted_now() {
    let path = Path::new(warpladder::SOURCE_ROOT).join("docs/scale.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = document.split_once(BEGIN).unwrap();
    let (shown, tail) = rest.split_once(END).unwrap();
    let now = format!("\n{}", predictions());
    if shown != now && std::env::var_os("WARPLADDER_UPDATE").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{now}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(shown, now, "WARPLADDER_UPDATE=1 writes docs/scale.md");
}

/// The number behind an option of the job.
fn option(job: &str, name: &str) -> usize {
    let line = format!("#SBATCH --{name}=");
    let value = job.lines().find_map(|text| text.strip_prefix(&line));
    value
        .unwrap_or_else(|| panic!("no {line}"))
        .parse()
        .unwrap()
}

#[test]
fn the_slurm_job_runs_commands_that_there_are_with_a_rank_for_each_gpu() {
    let path = Path::new(warpladder::SOURCE_ROOT).join("examples/slurm/scale.sbatch");
    let job = std::fs::read_to_string(path).unwrap();
    assert!(job.starts_with("#!/bin/bash\n"));
    let tasks = option(&job, "ntasks-per-node");
    assert_eq!(tasks, option(&job, "gpus-per-node"));
    let size = option(&job, "nodes") * tasks;
    let mut commands = 0;
    for line in job.lines() {
        let Some(command) = line.strip_prefix("srun ") else {
            continue;
        };
        commands += 1;
        let words = command
            .split_whitespace()
            .map(|word| word.trim_matches('"'));
        let parsed = warpladder_cli::command().try_get_matches_from(words);
        parsed.unwrap_or_else(|error| panic!("{command}: {error}"));
        if let Some((_, grid)) = line.split_once("summa:") {
            let grid = grid.split_whitespace().next().unwrap().split('x');
            let extents = grid.map(|extent| extent.parse::<usize>().unwrap());
            assert_eq!(extents.product::<usize>(), size);
        }
    }
    assert!(commands > 2);
    // What srun and the job set for the last rank.
    let variables = |name: &str| {
        let (rank, local) = (size - 1, tasks - 1);
        Some(match name {
            "SLURM_PROCID" => rank.to_string(),
            "SLURM_NTASKS" => size.to_string(),
            "SLURM_LOCALID" => local.to_string(),
            "SLURM_JOB_ID" => "12345".to_owned(),
            "MASTER_ADDR" => "node-0".to_owned(),
            "MASTER_PORT" => "22345".to_owned(),
            _ => return None,
        })
    };
    assert!(job.contains("MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))"));
    let launch = Launch::read(variables).unwrap().unwrap();
    assert_eq!(
        (launch.rank, launch.size, launch.local_rank),
        (size - 1, size, tasks - 1)
    );
    assert_eq!(
        launch.rendezvous,
        Rendezvous::Tcp("node-0:22345".to_owned())
    );
}

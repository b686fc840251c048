//! Runs that end before all is done: Ctrl-C, and a time that is up.

use super::{Folder, emulate, end, program};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kernels of which the second takes far longer than the first: the first ends at once, the second
/// not while a test waits.
const LONG: &str = "--engine emulator --kernel copy,naive_uncoalesced --shape 3008 --device none";

fn start(args: &str) -> Child {
    let mut command = program();
    let command = command.args(args.split_whitespace());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a line that starts so, and returns what came up to it.
fn wait_for(reader: &mut impl BufRead, start: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(
            reader.read_line(&mut line).unwrap() > 0,
            "no {start:?} in {seen}"
        );
        seen.push_str(&line);
        if line.starts_with(start) {
            return seen;
        }
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let status = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(status.unwrap().success());
}

fn envelope(file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
#[cfg(unix)]
fn ctrl_c_keeps_what_is_done() {
    for name in ["INT", "TERM"] {
        let folder = Folder::new(&format!("interrupted-{name}"));
        let (json, csv) = (folder.file("run.json"), folder.file("run.csv"));
        let mut child = start(&format!("{LONG} --json {json} --csv {csv}"));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = wait_for(&mut stdout, "copy ");
        // The second kernel runs, and would for long.
        signal(&child, name);
        let begin = Instant::now();
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
        assert!(begin.elapsed() < Duration::from_secs(20));
        let rest = "interrupted: 1 of 2 done; missing: naive_uncoalesced";
        assert!(text.contains(rest), "{text}");
        let envelope = envelope(&json);
        assert_eq!(envelope["complete"], false);
        let records = envelope["records"].as_array().unwrap();
        assert_eq!(records.len(), 1);
        assert_eq!(
            (&records[0]["kernel"], &records[0]["ok"]),
            (&"copy".into(), &true.into())
        );
        let csv = std::fs::read_to_string(&csv).unwrap();
        assert_eq!(csv.lines().count(), 2, "{csv}");
        // No file beside them is left.
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_keeps_the_tables_of_reproduce() {
    let folder = Folder::new("interrupted-reproduce");
    let json = folder.file("rows.json");
    let mut child = start(&format!("reproduce --engine emulator --json {json}"));
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = wait_for(&mut stdout, "source 000");
    text.push_str(&wait_for(&mut stdout, "\n"));
    signal(&child, "INT");
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("\ninterrupted: "), "{text}");
    let envelope = envelope(&json);
    assert_eq!(envelope["complete"], false);
    assert!(!envelope["records"].as_array().unwrap().is_empty());
}

#[test]
#[cfg(unix)]
fn ctrl_c_leaves_no_file_of_a_command_that_keeps_nothing() {
    let folder = Folder::new("interrupted-report");
    let (page, old) = (folder.file("report.html"), folder.file("old.html"));
    std::fs::write(&old, "old").unwrap();
    for file in [&page, &old] {
        let child = start(&format!("report --out {file}"));
        // Once the place for the page is open, it counts kernels for long.
        let opened = Instant::now();
        let is_open = || {
            let mut entries = std::fs::read_dir(&folder.0).unwrap();
            entries.any(|entry| {
                let name = entry.unwrap().file_name();
                name.to_string_lossy().starts_with(".warpladder-")
            })
        };
        while !is_open() {
            assert!(opened.elapsed() < Duration::from_secs(60));
            std::thread::park_timeout(Duration::from_millis(20));
        }
        signal(&child, "INT");
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130));
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(
            stderr.ends_with("interrupted: nothing is written\n"),
            "{stderr}"
        );
        assert!(!is_open());
    }
    assert!(!std::path::Path::new(&page).exists());
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
}

#[test]
fn what_would_take_longer_than_the_limit_is_left_out_before_it_starts() {
    let begin = Instant::now();
    let limited = "--kernel naive --shape 8192 --device none --time-limit 5";
    emulate(limited).assert_refused(&["--time-limit 5", "naive would take about", "--shape"]);
    assert!(begin.elapsed() < Duration::from_secs(60));
    let ended = emulate("--kernel copy,naive --shape 3008 --device none --time-limit 10 --json -");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("left out: naive would take about"),
        "{ended:?}"
    );
    let envelope: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(envelope["complete"], false);
    assert_eq!(envelope["records"][0]["kernel"], "copy");
}

#[test]
#[cfg(unix)]
fn what_takes_longer_than_a_minute_says_so_before() {
    for (args, advice) in [
        (
            "--engine emulator --kernel naive --shape 8192 --device none",
            "--time-limit",
        ),
        (
            "tune --engine emulator --shape 4096 --dry-run",
            "Ctrl-C keeps what is done",
        ),
        (
            "reproduce --engine emulator --shape 4096",
            "Ctrl-C keeps what is done",
        ),
        ("profile naive --shape 8192", "a smaller --shape"),
        ("sanitize naive --shape 4096", "a smaller --shape"),
    ] {
        let mut child = start(args);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let text = wait_for(&mut stderr, "this takes about ");
        signal(&child, "INT");
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{text}");
        assert!(text.contains(advice), "{text}");
        // Of nothing there is nothing to say.
        let stdout = String::from_utf8(ended.stdout).unwrap();
        assert!(!stdout.contains("checks passed"), "{stdout}");
    }
}

#[test]
fn a_mistyped_command_is_told_the_one_that_was_meant() {
    for (typed, meant) in [("rnu", "run"), ("lsit", "list"), ("sanitise", "sanitize")] {
        let ended = end(program().arg(typed));
        ended.assert_refused(&[typed, meant]);
    }
    let ended = end(program().arg("qqqq"));
    ended.assert_refused(&["qqqq"]);
    assert!(!ended.stderr.contains("did you mean"), "{ended:?}");
}

//! Output files.

use super::{Folder, emulate, parse, program};
use std::path::Path;

#[test]
fn an_output_file_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = Folder::new("unwritable");
    let absent = folder.file("absent/records");
    let other = folder.file("other");
    for option in ["--json", "--csv"] {
        // A size that would run for minutes.
        let ended = emulate(&format!("--kernel naive --shape 4096 {option} {absent}"));
        ended.assert_refused(&["cannot write ", "absent/records", "choose another file"]);
        emulate(&format!("--shape 8 {option} {}", folder.0.display()))
            .assert_refused(&["cannot write "]);
    }
    emulate(&format!("--shape 8 --json {other} --csv {absent}"))
        .assert_refused(&["absent/records"]);
    assert!(!Path::new(&other).exists(), "an empty file stays");
}

#[test]
fn a_refused_run_leaves_files_as_they_were() {
    let folder = Folder::new("refused");
    let (old, new) = (folder.file("old"), folder.file("new"));
    std::fs::write(&old, "kept").unwrap();
    let ended = emulate(&format!(
        "--kernel tiled_32 --shape 33 --json {old} --csv {new}"
    ));
    ended.assert_refused(&["tiled_32"]);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "kept");
    assert!(!Path::new(&new).exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    for args in ["--json /dev/full", "--csv /dev/full"] {
        let ended = emulate(&format!("--kernel naive --shape 8 {args}"));
        // Rows are printed as they come, and so before.
        assert_eq!(ended.status, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(
            ended.stderr.starts_with("error: cannot write /dev/full"),
            "{ended:?}"
        );
    }
    for args in [
        "list",
        "list --json",
        "devices",
        "doctor",
        "--engine emulator --kernel naive --shape 8",
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = program();
        let output = command
            .args(args.split_whitespace())
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}");
    }
}

#[test]
fn files_hold_the_records_and_the_table_stays_on_standard_output() {
    let folder = Folder::new("records");
    let (json, csv) = (folder.file("records.json"), folder.file("records.csv"));
    std::fs::write(&json, "x".repeat(100_000)).unwrap();
    let ended = emulate(&format!(
        "--kernel naive,copy --shape 32 --json {json} --csv {csv}"
    ));
    ended.assert_passed(2);
    assert_eq!(ended.stderr, "");
    let records = parse(&std::fs::read_to_string(&json).unwrap());
    assert_eq!(records.len(), 2);
    let csv = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

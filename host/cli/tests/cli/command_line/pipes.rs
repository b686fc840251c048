//! Terminals, pipes, and readers that go away.

use super::{program, warpladder};
use std::io;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::process::Stdio;

#[test]
fn a_pipe_gets_neither_colours_nor_progress() {
    for args in [
        "list",
        "doctor",
        "--engine emulator --kernel naive --shape 8",
    ] {
        let ended = warpladder(args);
        assert!(!ended.stdout.contains('\x1b'), "{args}: {ended:?}");
        assert!(!ended.stderr.contains('\x1b'), "{args}: {ended:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_colours_unless_no_color_is_set() {
    let on_terminal = |no_color: Option<&str>| {
        let shell = format!(
            "'{}' --engine emulator --kernel naive --shape 8 2>/dev/null",
            env!("CARGO_BIN_EXE_warpladder")
        );
        let mut command = Command::new("script");
        command
            .args(["-qec", &shell, "/dev/null"])
            .env("TERM", "xterm");
        match no_color {
            Some(value) => command.env("NO_COLOR", value),
            None => command.env_remove("NO_COLOR"),
        };
        command.stdin(Stdio::null()).output()
    };
    let Ok(coloured) = on_terminal(None) else {
        println!("skipped: there is no `script` to make a terminal with");
        return;
    };
    let coloured = String::from_utf8(coloured.stdout).unwrap();
    assert!(coloured.contains("\x1b["), "{coloured:?}");
    // An empty value is none (no-color.org).
    let empty = String::from_utf8(on_terminal(Some("")).unwrap().stdout).unwrap();
    assert!(empty.contains("\x1b["), "{empty:?}");
    let plain = String::from_utf8(on_terminal(Some("1")).unwrap().stdout).unwrap();
    assert!(plain.contains("1 check passed"), "{plain:?}");
    assert!(!plain.contains('\x1b'), "{plain:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [
        "list",
        "list --json",
        "devices",
        "devices --json",
        "doctor",
        "--help",
        "--engine emulator --kernel naive --shape 8",
        "--engine emulator --kernel naive --shape 8 --json -",
        "--engine emulator --kernel naive --shape 8 --csv -",
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = program()
            .args(args.split_whitespace())
            .stdout(writer)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args}: {stderr}");
    }
}

#[test]
fn nobody_who_reads_the_error_is_no_reason_to_panic() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let status = program()
        .args(["--kernel", "qqqq"])
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));

    // Here it is the note that there is no GPU.
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let status = program()
        .args(["--kernel", "naive", "--shape", "8"])
        .stdout(Stdio::null())
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

//! What fits a terminal: lines of 80 and 120 columns, without a number that is cut in two.

use super::{Ended, end, program};
use warpladder_lab::catalogue;

/// Runs the program in a terminal of this width.
fn at(columns: usize, args: &str) -> Ended {
    let ended = end(program()
        .args(args.split_whitespace())
        .env("COLUMNS", columns.to_string()));
    assert!(matches!(ended.status, Some(0 | 2)), "{args}: {ended:?}");
    ended
}

fn lines_fit(columns: usize, args: &str) -> Ended {
    let ended = at(columns, args);
    for line in ended.stdout.lines() {
        let width = line.chars().count();
        assert!(width <= columns, "{args}: {width} columns: {line:?}");
    }
    ended
}

/// The words that hold a digit.
fn numbers(text: &str) -> Vec<&str> {
    let words = text.split_whitespace();
    words
        .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
        .collect()
}

#[test]
fn every_table_fits_80_and_120_columns() {
    for columns in [80, 120] {
        for args in [
            "--engine emulator --kernel matvec_fast,naive*,transpose* --shape 32 --reps 1",
            "list",
            "profile transpose_coalesced --shape 64",
            "profile tiled_32 --shape 64 --lines",
            "reproduce --engine emulator --source 003 --shape 32",
            "reproduce --engine emulator --source 000 --shape 32",
            "predict transpose_padded --device V100 --shape 64",
            "sweep matvec_lcs --device V100",
            "sanitize naive,tiled_32",
        ] {
            lines_fit(columns, args);
        }
    }
}

#[test]
fn the_longest_names_leave_room_for_every_column() {
    let longest = catalogue::rungs()
        .max_by_key(|rung| rung.name.len())
        .unwrap();
    let args = format!(
        "--engine emulator --kernel {},naive --shape 32",
        longest.name
    );
    let ended = lines_fit(80, &args);
    let header = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("kernel"))
        .unwrap();
    for title in ["check", "H200 ms", "rate", " x ", "roof %", "CPU ms"] {
        assert!(header.contains(title), "{title}: {header}");
    }
    // The emulator's own time comes last.
    assert!(header.ends_with("CPU ms"), "{header}");
}

#[test]
fn no_number_is_cut_in_two() {
    for args in [
        "list",
        "sanitize naive,tiled_32,sgemm",
        "profile transpose_coalesced --shape 64",
    ] {
        let (cut, whole) = (at(80, args), at(10_000, args));
        // Lines of source are shortened; the figures above them are all there.
        let figures = |text: &str| text.split("\n\n").next().unwrap_or_default().to_owned();
        let (cut, whole) = (figures(&cut.stdout), figures(&whole.stdout));
        let (mut cut, mut whole) = (numbers(&cut), numbers(&whole));
        cut.sort_unstable();
        whole.sort_unstable();
        assert_eq!(cut, whole, "{args}");
    }
}

#[test]
fn wide_shows_everything_however_narrow_the_terminal_is() {
    let ended = at(80, "--engine emulator --kernel naive --shape 32 --wide");
    let header = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("kernel"))
        .unwrap();
    for title in [
        "element",
        "size",
        "error",
        "tolerance",
        "bound by",
        "samples",
        "noise %",
        "GFLOP/s",
        "host-to-host ms",
        "CPU ms",
    ] {
        assert!(header.contains(title), "{title}: {header}");
    }
    let cut = at(80, "list");
    let wide = at(80, "list --wide");
    assert!(!cut.stdout.contains("engines") && wide.stdout.contains("engines"));
}

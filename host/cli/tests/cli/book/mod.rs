//! The book in `book/`: what it includes, links to and tells readers to type exists, and what it
//! shows of the program's output is what the program says now.
//!
//! `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli book` writes the output.

mod counters;
mod fragments;
mod pages;
mod predicted;
mod prose;
mod results;
mod terminal;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(warpladder::SOURCE_ROOT)
}

/// The folder of the chapters.
fn chapters() -> PathBuf {
    root().join("book/src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Rows of cells as a Markdown table; the first is its head. Columns of numbers are aligned to the
/// right.
fn table(rows: &[Vec<String>]) -> String {
    let is_number =
        |cell: &str| cell.is_empty() || cell.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let columns = 0..rows[0].len();
    let alignments = columns.map(|column| {
        let mut cells = rows[1..].iter().map(|row| row[column].as_str());
        if cells.all(is_number) { "--:" } else { "---" }
    });
    let rule = format!("|{}|", alignments.collect::<Vec<_>>().join("|"));
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| format!("| {} |", row.join(" | ")))
        .collect();
    lines.insert(1, rule);
    lines.join("\n") + "\n"
}

//! The source lines of a profile.

use super::share;
use crate::{table, units};
use comfy_table::CellAlignment;
use ptx_emulator::counters::{Counts, LineCounts, SourceLine};
use std::io::{self, Write};
use warpladder_lab::profile::{Measurement, Sources, distinct};
use warpladder_report::numbers::grouped;

/// Lines with a smaller share of the instructions are left out unasked, unless they access memory.
const MIN_SHARE: f64 = 0.005;

pub(super) fn print(to: &mut dyn Write, record: &Measurement, all: bool) -> io::Result<()> {
    let is_shown = |line: &&LineCounts| {
        let counts = &line.counts;
        let least = MIN_SHARE * record.total.warp_instructions as f64;
        all || counts.warp_instructions as f64 >= least
            || counts.global().requests + counts.shared().requests > 0
    };
    let shown: Vec<&LineCounts> = record.lines.iter().filter(is_shown).collect();
    // Where the terminal is narrow, names are short, and the source gets the rest.
    let is_compact = table::terminal_width().is_some_and(|width| width < WIDE);
    let mut table = table::new(match is_compact {
        false => &[
            "line",
            "instructions",
            "share %",
            "sectors/request",
            "wavefronts/ideal",
            "source",
        ],
        true => &["line", "instr.", "%", "sect.", "wavef.", "source"],
    });
    let parts = record.parts();
    let mut sources = Sources::default();
    for line in &shown {
        let mut cells = row(
            "",
            &line.place,
            &line.counts,
            &parts(line),
            record,
            &mut sources,
        );
        shorten(&mut cells, is_compact);
        table.add_row(cells);
        for inlined in line.inlined.iter().filter(|_| all) {
            let parts = [&inlined.counts];
            let mut cells = row(
                "  ",
                &inlined.place,
                &inlined.counts,
                &parts,
                record,
                &mut sources,
            );
            shorten(&mut cells, is_compact);
            table.add_row(cells);
        }
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table::fit(&mut table, 5);
    writeln!(to, "\n{table}")?;
    let left_out = record.lines.len() - shown.len();
    if left_out > 0 {
        writeln!(
            to,
            "left out: {} with few instructions (--lines shows all)",
            units::count(left_out, "line")
        )?;
    }
    Ok(())
}

/// Columns from which on nothing is shortened.
const WIDE: usize = 140;

/// Leaves of a row what a narrow terminal has room for: the file without its folders.
fn shorten(cells: &mut [String; 6], is_compact: bool) {
    if !is_compact {
        return;
    }
    let indent = cells[0].len() - cells[0].trim_start().len();
    if let Some((_, file)) = cells[0].rsplit_once('/') {
        // Folders tell modules apart that are all in a file of one name.
        let folder = cells[0].rsplit('/').nth(1).unwrap_or_default();
        let name = match file.starts_with("mod.rs:") || file.starts_with("lib.rs:") {
            true => format!("{}/{file}", folder.trim_start()),
            false => file.to_owned(),
        };
        cells[0] = format!("{}{name}", " ".repeat(indent));
    }
}

/// A row of the table of lines. Ratios are those of the line's `parts`, each value once.
fn row(
    indent: &str,
    place: &SourceLine,
    counts: &Counts,
    parts: &[&Counts],
    record: &Measurement,
    sources: &mut Sources,
) -> [String; 6] {
    let number = match place.line {
        0 => "-".to_owned(),
        line => line.to_string(),
    };
    let sectors = parts
        .iter()
        .map(|counts| counts.global().sectors_per_request());
    let conflicts = parts.iter().map(|counts| counts.shared().conflict_ratio());
    [
        format!("{indent}{}:{number}", place.file),
        grouped(counts.warp_instructions),
        share(counts.warp_instructions, record),
        distinct(sectors),
        distinct(conflicts),
        shortened(sources.line(place)),
    ]
}

/// Longest piece of a source line that is shown, in characters.
const SOURCE_WIDTH: usize = 72;

/// What of a line is shown.
fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SOURCE_WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

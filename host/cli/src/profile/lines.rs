//! The source lines of a profile.

use super::share;
use crate::table;
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
    let mut table = table::new(&[
        "line",
        "instructions",
        "share %",
        "sectors/request",
        "wavefronts/ideal",
        "source",
    ]);
    table.set_content_arrangement(comfy_table::ContentArrangement::Disabled);
    let parts = record.parts();
    let mut sources = Sources::default();
    for line in &shown {
        table.add_row(row(
            "",
            &line.place,
            &line.counts,
            &parts(line),
            record,
            &mut sources,
        ));
        for inlined in line.inlined.iter().filter(|_| all) {
            let parts = [&inlined.counts];
            table.add_row(row(
                "  ",
                &inlined.place,
                &inlined.counts,
                &parts,
                record,
                &mut sources,
            ));
        }
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(to, "\n{table}")?;
    let left_out = record.lines.len() - shown.len();
    if left_out > 0 {
        writeln!(
            to,
            "left out: {left_out} lines with few instructions (--lines shows them)"
        )?;
    }
    Ok(())
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

//! `warpladder list`.

use super::{Outcome, table};
use crate::catalogue::{Family, Multiples, RUNGS, Rung};
use crate::element::ElementType;
use crate::engine::EngineKind;
use crate::problem::Operation;
use crate::run::describe_multiples;
use std::io::Write;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
}

/// One kernel as `list --json` prints it.
#[derive(serde::Serialize)]
struct Entry {
    name: &'static str,
    family: Family,
    source: &'static str,
    summary: &'static str,
    element: ElementType,
    operation: Operation,
    /// Threads of a block in x, y and z.
    block: [u32; 3],
    /// Columns and rows of the output that one block computes.
    tile: [u32; 2],
    multiples: Multiples,
    preconditions: String,
    /// Lowest compute capability, times ten.
    compute_capability: u32,
    engines: [EngineKind; 2],
}

impl From<&Rung> for Entry {
    fn from(rung: &Rung) -> Self {
        Entry {
            name: rung.name,
            family: rung.family,
            source: rung.source,
            summary: rung.summary,
            element: rung.element,
            operation: rung.operation,
            block: rung.geometry.block,
            tile: rung.geometry.tile,
            multiples: rung.multiples,
            preconditions: describe_multiples(rung),
            compute_capability: rung.compute_capability,
            engines: [EngineKind::Gpu, EngineKind::Emulator],
        }
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let entries: Vec<Entry> = RUNGS.iter().map(Entry::from).collect();
    let mut stdout = std::io::stdout().lock();
    if args.json {
        writeln!(stdout, "{}", serde_json::to_string_pretty(&entries)?)?;
        return Ok(Outcome::Done);
    }
    let mut table = table::new(&[
        "kernel", "family", "source", "element", "block", "tile", "sizes", "engines", "what it is",
    ]);
    for entry in entries {
        let [x, y, z] = entry.block;
        let [columns, rows] = entry.tile;
        let engines = entry.engines.map(|engine| engine.to_string()).join(", ");
        table.add_row([
            entry.name.to_owned(),
            entry.family.to_string(),
            entry.source.to_owned(),
            entry.element.to_string(),
            format!("{x} x {y} x {z}"),
            format!("{columns} x {rows}"),
            entry.preconditions,
            engines,
            entry.summary.to_owned(),
        ]);
    }
    writeln!(stdout, "{table}")?;
    Ok(Outcome::Done)
}

//! `warpladder list`.

use super::output;
use super::table;
use crate::outcome::Outcome;
use std::io::Write;
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::engine::EngineKind;
use warpladder_lab::catalogue::{self, Family, Implementation, Precondition, Rung};
use warpladder_lab::problem::Operation;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder list
  warpladder list --wide
  warpladder list --json")]
pub(super) struct Args {
    /// Show geometry, sizes and engines as well
    #[arg(long)]
    wide: bool,
    /// Print JSON instead of a table
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
    /// Threads of a block in x, y and z; null for what is no kernel.
    block: Option<[u32; 3]>,
    /// Columns and rows of the output that one block computes; null where the grid decides.
    tile: Option<[u32; 2]>,
    precondition: Precondition,
    /// The precondition in words.
    sizes: String,
    /// Lowest compute capability; null for what is no kernel.
    compute_capability: Option<ComputeCapability>,
    /// The rungs that a dispatching one chooses from.
    dispatches_to: &'static [&'static str],
    engines: &'static [EngineKind],
}

impl From<&Rung> for Entry {
    fn from(rung: &Rung) -> Self {
        let mut entry = Entry {
            name: rung.name,
            family: rung.family,
            source: rung.source,
            summary: rung.summary,
            element: rung.element,
            operation: rung.operation,
            block: None,
            tile: None,
            precondition: rung.precondition,
            sizes: rung.precondition.describe(rung.operation),
            compute_capability: rung.compute_capability(),
            dispatches_to: &[],
            engines: &[EngineKind::Gpu, EngineKind::Emulator],
        };
        match rung.implementation {
            Implementation::Kernel { geometry, .. } => {
                entry.block = Some(geometry.block());
                entry.tile = geometry.tile();
            }
            Implementation::Planned { .. } => {}
            Implementation::Dispatch(candidates) => entry.dispatches_to = candidates,
            Implementation::Cpu(_) => entry.engines = &[EngineKind::Cpu],
        }
        entry
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let entries: Vec<Entry> = catalogue::rungs().map(Entry::from).collect();
    let mut stdout = output::stdout();
    if args.json {
        stdout.write_all(&output::json("list", true, None, &entries)?)?;
        return Ok(Outcome::Done);
    }
    let text = match args.wide {
        true => wide(entries),
        false => compact(entries),
    };
    writeln!(stdout, "{text}")?;
    Ok(Outcome::Done)
}

/// What a reader chooses by.
fn compact(entries: Vec<Entry>) -> String {
    let mut table = table::new(&["kernel", "family", "element", "what it is"]);
    for entry in entries {
        table.add_row([
            entry.name.to_owned(),
            entry.family.to_string(),
            entry.element.to_string(),
            entry.summary.to_owned(),
        ]);
    }
    table::fit(&mut table, 3);
    table.to_string()
}

/// Everything.
fn wide(entries: Vec<Entry>) -> String {
    let mut table = table::new(&[
        "kernel",
        "family",
        "source",
        "element",
        "block",
        "tile",
        "sizes",
        "engines",
        "what it is",
    ]);
    let dash = || "-".to_owned();
    for entry in entries {
        let engines: Vec<String> = entry.engines.iter().map(EngineKind::to_string).collect();
        table.add_row([
            entry.name.to_owned(),
            entry.family.to_string(),
            entry.source.to_owned(),
            entry.element.to_string(),
            entry
                .block
                .map_or_else(dash, |[x, y, z]| format!("{x} x {y} x {z}")),
            entry
                .tile
                .map_or_else(dash, |[columns, rows]| format!("{columns} x {rows}")),
            entry.sizes,
            engines.join(", "),
            entry.summary.to_owned(),
        ]);
    }
    table.to_string()
}

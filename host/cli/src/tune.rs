//! `warpladder tune`.

use super::choices::{ENGINES, one_of};
use super::output::{Destination, people};
use super::shape::Problems;
use super::{Outcome, table};
use std::io::Write;
use std::num::NonZeroUsize;
use warpladder::engine::{self, Engine, EngineChoice};
use warpladder::gemm::GemmElement;
use warpladder::gemm::layout::Layout;
use warpladder::gemm::tuning::{self, Tuned};
use warpladder_lab::problem::Shape;
use warpladder_lab::tune::{self, Way};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder tune --shape 4096
  warpladder tune --element f64 --shape 333x777x1234 --layout nn,tt --dry-run
  warpladder tune --engine emulator --shape 48 --reps 1 --dry-run")]
pub(super) struct Args {
    /// The element type
    #[arg(long, value_enum, default_value = "f32", value_name = "TYPE")]
    element: ElementArg,
    #[command(flatten)]
    problems: Problems,
    /// Where to run
    #[arg(long, value_parser = one_of(ENGINES), default_value = "gpu")]
    engine: EngineChoice,
    /// Samples of each way
    #[arg(long, value_name = "R", default_value = "10")]
    reps: NonZeroUsize,
    /// Show what was found, and keep nothing
    #[arg(long)]
    dry_run: bool,
    /// Write what was found as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// The element types of general products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ElementArg {
    F32,
    F64,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let (engine, reason) = engine::open(args.engine)?;
    if let Some(reason) = reason {
        writeln!(super::output::stderr(), "{reason}: on the emulator")?;
    }
    let mut people = people(json.as_ref().is_some_and(Destination::is_stdout));
    writeln!(people, "{}", engine.identity())?;
    let mut kept = Vec::new();
    let mut wrong = 0;
    for (shape, layout) in args.problems.each() {
        let (ways, best) = match args.element {
            ElementArg::F32 => search::<f32>(&*engine, shape, layout, args.reps)?,
            ElementArg::F64 => search::<f64>(&*engine, shape, layout, args.reps)?,
        };
        print(&mut people, shape, layout, &ways)?;
        wrong += ways.iter().filter(|way| !way.verdict.ok).count();
        kept.extend(best);
    }
    if !args.dry_run {
        let path = tuning::path()?;
        tuning::add(&path, kept.clone())?;
        writeln!(people, "kept in {}", path.display())?;
    }
    if let Some(json) = json {
        json.write_json(&kept)?;
    }
    if wrong > 0 {
        writeln!(people, "{wrong} ways gave a wrong result")?;
        return Ok(Outcome::ChecksFailed);
    }
    Ok(Outcome::Done)
}

/// The ways of one product, and what is kept of the fastest; of none that is wrong.
fn search<T: GemmElement>(
    engine: &dyn Engine,
    shape: Shape,
    layout: Layout,
    reps: NonZeroUsize,
) -> anyhow::Result<(Vec<Way>, Option<Tuned>)> {
    let transposed = layout.transposed();
    let ways = tune::ways::<T>(engine, shape, transposed, reps.get())?;
    let best = ways.first().filter(|way| way.verdict.ok);
    let best = best.map(|way| tune::kept::<T>(engine, shape, transposed, way));
    Ok((ways, best))
}

fn print(to: &mut dyn Write, shape: Shape, layout: Layout, ways: &[Way]) -> anyhow::Result<()> {
    let Shape { m, n, k } = shape;
    writeln!(to, "{m} x {n} x {k} {layout}")?;
    let favourite = ways
        .iter()
        .map(|way| way.predicted)
        .fold(f64::INFINITY, f64::min);
    let least = ways.first().map_or(1.0, |way| way.ms);
    let mut table = table::new(&[
        "kernel",
        "k in parts",
        "check",
        "ms",
        "of the best",
        "of the best by the model",
    ]);
    for way in ways {
        let parts = match way.choice.cut {
            Some(cut) => format!("{} of the last {} tiles", cut.parts, cut.tiles),
            None => way.choice.splits.to_string(),
        };
        table.add_row([
            way.choice.entry.into(),
            parts.into(),
            table::verdict(way.verdict.ok),
            table::number(Some(way.ms)),
            table::number(Some(way.ms / least)),
            table::number(Some(way.predicted / favourite)),
        ]);
    }
    table::align_numbers(&mut table, 3);
    writeln!(to, "{table}")?;
    Ok(())
}

//! `warpladder tune`.

use super::choices::{ENGINES, one_of};
use super::interrupt::{self, Ending, Results};
use super::output::{Destination, human_output};
use super::run::open_engine;
use super::shape::{AskedShape, Large, ProblemArgs};
use super::{progress, select, table, units};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use half::{bf16, f16};
use std::io::Write;
use std::num::NonZeroUsize;
use warpladder::engine::{Engine, EngineChoice, EngineKind};
use warpladder::gemm::Tf32;
use warpladder::gemm::layout::Layout;
use warpladder::gemm::tuning::{self, Tuned};
use warpladder_lab::problem::Shape;
use warpladder_lab::tune::{self, Candidate, Tunable, count};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder tune --shape 4096
  warpladder tune --element bf16 --shape 3136x104x2952 --layout nt
  warpladder tune --element f64 --shape 333x777x1234 --layout nn,tt --dry-run
  warpladder tune --engine emulator --shape 48 --reps 1 --dry-run")]
pub(super) struct Args {
    /// The element type
    #[arg(long, value_enum, default_value = "f32", value_name = "TYPE")]
    element: ElementArg,
    #[command(flatten)]
    problems: ProblemArgs<Large>,
    /// Where to run
    #[arg(long, value_parser = one_of(ENGINES), default_value = "gpu")]
    engine: EngineChoice,
    /// Samples of each candidate
    #[arg(long, value_name = "R", default_value = "10")]
    reps: NonZeroUsize,
    /// Show what was found, and keep nothing
    #[arg(long)]
    dry_run: bool,
    /// Write what was found as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// The element types of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ElementArg {
    F32,
    F64,
    /// bfloat16, with a C of f32
    Bf16,
    /// IEEE binary16, with a C of f32
    F16,
    /// f32 rounded to TF32, with a C of f32
    Tf32,
}

/// Calls a generic function with the type of an [`ElementArg`].
macro_rules! of_element {
    ($element:expr, $function:ident($($argument:expr),*)) => {
        match $element {
            ElementArg::F32 => $function::<f32>($($argument),*),
            ElementArg::F64 => $function::<f64>($($argument),*),
            ElementArg::Bf16 => $function::<bf16>($($argument),*),
            ElementArg::F16 => $function::<f16>($($argument),*),
            ElementArg::Tf32 => $function::<Tf32>($($argument),*),
        }
    };
}

/// What was found for a product.
type Found = (Shape, Layout, Vec<Candidate>, Option<Tuned>);

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let engine = open_engine(args.engine)?;
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    writeln!(human, "{}", engine.identity())?;
    let problems = args.problems.each(true)?;
    let all = problems.len();
    let (element, reps, seed) = (args.element, args.reps, args.problems.shapes.seed);
    estimate::announce(
        seconds(&*engine, args, &problems)?,
        "fewer sizes and less --reps take less, and Ctrl-C keeps what is done",
    )?;
    let progress = progress::of_pieces(all)?;
    let work = move |results: &Results<Found>| {
        for (asked, layout) in problems {
            let shape = asked.any();
            let (candidates, best) =
                of_element!(element, search(&*engine, shape, layout, reps, seed))?;
            if results.hand((shape, layout, candidates, best)).is_break() {
                break;
            }
        }
        Ok(())
    };
    let (mut kept, mut wrong, mut done) = (Vec::new(), 0, 0);
    let ending = interrupt::attend(None, work, |(shape, layout, candidates, best)| {
        progress.suspend(|| print(&mut human, shape, layout, &candidates))?;
        progress.inc(1);
        let of = candidates.iter();
        wrong += of.filter(|candidate| !candidate.verdict.ok).count();
        kept.extend(best);
        done += 1;
        Ok(())
    });
    progress.finish_and_clear();
    let ending = ending?;
    if !args.dry_run && !kept.is_empty() {
        let path = tuning::path()?;
        tuning::add(&path, kept.clone())?;
        writeln!(human, "kept in {}", path.display())?;
    }
    if let Some(json) = json {
        json.write_records("tune", done == all, &kept)?;
    }
    if wrong > 0 {
        let wrong = units::count(wrong, "candidate");
        writeln!(human, "{wrong} gave a wrong result")?;
    }
    if ending != Ending::Complete {
        writeln!(human, "interrupted: {done} of {all} done")?;
        return Ok(Outcome::Interrupted);
    }
    Ok(match wrong {
        0 => Outcome::Done,
        _ => Outcome::ChecksFailed,
    })
}

/// How long it takes, in seconds, as far as that is known before.
fn seconds(
    engine: &dyn Engine,
    args: &Args,
    problems: &[(AskedShape, Layout)],
) -> anyhow::Result<f64> {
    let rung = select::kernel(match args.element {
        ElementArg::F32 => "sgemm",
        ElementArg::F64 => "dgemm",
        ElementArg::Bf16 => "gemm_mma_bf16",
        ElementArg::F16 => "gemm_mma_f16",
        ElementArg::Tf32 => "gemm_mma_tf32",
    })?;
    // One run checks a candidate.
    let runs = 1 + args.reps.get();
    let speed = match engine.kind() {
        EngineKind::Gpu => None,
        _ => Some(EmulatorSpeed::measure(engine, args.problems.shapes.seed)?),
    };
    let device = select::device(None)?;
    let mut seconds = 0.0;
    for &(asked, layout) in problems {
        let (shape, transposed) = (asked.any(), layout.transposed());
        let candidates = of_element!(args.element, count(engine, shape, transposed))?;
        seconds += match &speed {
            Some(speed) => speed.runs(rung, shape, runs * candidates)?,
            None => {
                let sample = estimate::on_gpu(&device, rung, shape) + tune::SAMPLE_SECONDS;
                (runs * candidates) as f64 * sample
            }
        };
    }
    Ok(seconds)
}

/// The candidates of one product, and what is kept of the fastest; of none that is wrong.
fn search<T: Tunable>(
    engine: &dyn Engine,
    shape: Shape,
    layout: Layout,
    reps: NonZeroUsize,
    seed: u64,
) -> anyhow::Result<(Vec<Candidate>, Option<Tuned>)> {
    let transposed = layout.transposed();
    let candidates = tune::candidates::<T>(engine, shape, transposed, reps.get(), seed)?;
    let best = candidates.first().filter(|candidate| candidate.verdict.ok);
    let best = best.and_then(|candidate| tune::tuned::<T>(engine, shape, transposed, candidate));
    Ok((candidates, best))
}

/// The blocks of a cluster along m and n.
fn cluster([m, n]: [u32; 2]) -> String {
    format!("{m} × {n}")
}

fn print(
    to: &mut dyn Write,
    shape: Shape,
    layout: Layout,
    candidates: &[Candidate],
) -> anyhow::Result<()> {
    let Shape { m, n, k } = shape;
    writeln!(to, "{m} x {n} x {k} {layout}")?;
    let favourite = candidates
        .iter()
        .filter_map(|candidate| candidate.predicted)
        .fold(f64::INFINITY, f64::min);
    let least = candidates.first().map_or(1.0, |candidate| candidate.ms);
    let mut table = table::new(&[
        "kernel",
        "BN",
        "cluster",
        "split-K",
        "check",
        "ms",
        "of the best",
        "of the best by the model",
    ]);
    for candidate in candidates {
        let choice = candidate.choice.as_ref();
        table.add_row([
            candidate.entry.into(),
            choice
                .and_then(|of| of.tile_columns())
                .map_or("-".into(), |columns| columns.to_string().into()),
            choice.map_or("-".into(), |of| {
                cluster(of.cluster_shape().extents()).into()
            }),
            choice.map_or("as without tuning".into(), |of| {
                of.decomposition.to_string().into()
            }),
            table::verdict(candidate.verdict.ok),
            table::number(Some(candidate.ms)),
            table::number(Some(candidate.ms / least)),
            table::number(candidate.predicted.map(|predicted| predicted / favourite)),
        ]);
    }
    table::align_numbers(&mut table, 4);
    writeln!(to, "{table}")?;
    Ok(())
}

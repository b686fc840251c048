//! `warpladder compare`.

mod shown;

use super::choices::{PEERS, generation, one_of, positive};
use super::interrupt::{self, Ending, Results};
use super::output::{Destination, human_output};
use super::shape::{Compared, ProblemArgs};
use super::{estimate, progress, select};
use crate::outcome::Outcome;
use crate::table;
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use warpladder::device::ComputeCapability;
use warpladder::gemm::layout::Layout;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::compare::{self, Comparer, Options, Peer, PeerComparison};
use warpladder_lab::engine;
use warpladder_lab::problem::Shape;
use warpladder_lab::run::describe;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder compare sgemm --shape 1024,4096,4095x33x1000
  warpladder compare dgemm --shape 2048 --layout nn,nt,tn,tt
  warpladder compare wgmma_bf16 --peer best --random 20 --layout random --retime-below 0.95")]
pub(super) struct Args {
    /// The kernels
    #[arg(required = true, value_name = "KERNEL", value_delimiter = ',')]
    kernels: Vec<String>,
    /// What to compare with [default: cublas for products, memcpy for transposes]
    #[arg(long, value_parser = one_of(PEERS))]
    peer: Option<Peer>,
    #[command(flatten)]
    problems: ProblemArgs<Compared>,
    /// Run the kernels of this generation of GPUs, such as sm_80, as on a device of it: where a
    /// kernel is chosen by the size [default: the device's own]
    #[arg(long, value_name = "TARGET", value_parser = generation)]
    generation: Option<ComputeCapability>,
    /// Samples of each of the two
    #[arg(long, value_name = "R", default_value = "20")]
    reps: NonZeroUsize,
    /// Time a problem whose ratio is below BAR three times more: the median of the four ratios
    /// counts
    #[arg(long, value_name = "BAR", value_parser = positive)]
    retime_below: Option<f64>,
    /// Pause before each sample in milliseconds: none shows what the card sustains, a long one what
    /// it does rested
    #[arg(long, value_name = "MS", default_value_t = 0)]
    rest: u64,
    /// Show layouts, rates and errors as well
    #[arg(long)]
    wide: bool,
    /// Write the comparisons as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rungs = select::kernels(&args.kernels)?;
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let has_product = rungs.iter().any(|rung| rung.operation.is_product());
    let problems = args.problems.each(has_product)?;
    let mut cases = Vec::new();
    for &rung in &rungs {
        let peer = args.peer.unwrap_or_else(|| Peer::usual(rung.operation));
        for &(asked, layout) in &problems {
            cases.push((rung, asked.of(rung)?, layout, peer));
        }
    }
    let options = Options {
        reps: args.reps.get(),
        rest: Duration::from_millis(args.rest),
        seed: args.problems.shapes.seed,
        retime_below: args.retime_below,
        generation: args.generation,
    };
    let all = cases.len();
    announce(&cases, &options)?;
    let progress = progress::of_pieces(all)?;
    let mut comparisons = Vec::new();
    let mut left_out = Vec::new();
    let work = move |results: &Results<Result<PeerComparison, LeftOut>>| {
        let engine = engine::gpu(0)?;
        let comparer = Comparer::new(&engine, options);
        for case in cases {
            let result = compared(&comparer, case, all > 1)?;
            if results.hand(result).is_break() {
                break;
            }
        }
        Ok(())
    };
    let ending = interrupt::attend(None, work, |result| {
        progress.inc(1);
        match result {
            Ok(comparison) => {
                progress.set_message(comparison.kernel.clone());
                comparisons.push(comparison);
            }
            Err(one) => left_out.push(one),
        }
        Ok(())
    });
    progress.finish_and_clear();
    let ending = ending?;
    let summaries = compare::summaries(&comparisons);
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    if let Some(json) = json {
        let is_complete = comparisons.len() == all;
        json.write_summarised("compare", is_complete, &summaries, &comparisons)?;
    }
    let outcome = shown::print(&mut human, &comparisons, &summaries, args.wide)?;
    for LeftOut { what, why } in &left_out {
        let line = format!("left out: {what}: {why}");
        writeln!(human, "{}", table::wrapped(&line, 2))?;
    }
    if ending == Ending::Complete {
        return match left_out.into_iter().next() {
            Some(LeftOut { why, .. }) if comparisons.is_empty() => Err(anyhow::anyhow!(why)),
            _ => Ok(outcome),
        };
    }
    let done = comparisons.len() + left_out.len();
    writeln!(human, "interrupted: {done} of {all} done")?;
    Ok(Outcome::Interrupted)
}

/// What is compared: a kernel and a peer on one problem.
type Case = (&'static Rung, Shape, Layout, Peer);

/// A problem that the kernel or the peer does not take.
struct LeftOut {
    what: String,
    why: String,
}

/// Compares one case; it is left out where the kernel or the peer does not take it, if it is one of
/// `several`.
fn compared(
    comparer: &Comparer<'_>,
    (rung, shape, layout, peer): Case,
    several: bool,
) -> anyhow::Result<Result<PeerComparison, LeftOut>> {
    match comparer.compare(rung, shape, layout, peer) {
        Ok(comparison) => Ok(Ok(comparison)),
        Err(why) if why.is_refusal() && several => {
            let size = describe(rung.operation, shape);
            Ok(Err(LeftOut {
                what: format!("{}, {size} {layout}", rung.name),
                why: why.to_string(),
            }))
        }
        Err(error) => Err(error.into()),
    }
}

/// Says how long it takes, where that is long.
fn announce(cases: &[Case], options: &Options) -> anyhow::Result<()> {
    // Without a GPU the comparison itself says so.
    if !warpladder::device::devices().is_ok_and(|gpus| !gpus.is_empty()) {
        return Ok(());
    }
    let device = select::device(None)?;
    // Kernel and peer in turn, each after the pause.
    let samples = 2.0 * (options.reps + OTHER_LAUNCHES) as f64;
    let seconds = |&(rung, shape, ..): &Case| {
        samples * (options.rest.as_secs_f64() + estimate::on_gpu(&device, rung, shape))
    };
    estimate::announce(
        cases.iter().map(seconds).sum(),
        "fewer sizes, less --reps or --rest take less, and Ctrl-C keeps what is done",
    )
}

/// Launches beside the samples: checks and warm-ups. Those that choose an algorithm are not known
/// before.
const OTHER_LAUNCHES: usize = 7;

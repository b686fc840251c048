//! `warpladder compare`.

mod shown;

use super::choices::{PEERS, generation, one_of, positive};
use super::interrupt::{self, Ending, Results};
use super::output::{Destination, human_output};
use super::shape::{Compared, ProblemArgs};
use super::{estimate, progress, select};
use crate::outcome::Outcome;
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use warpladder::device::ComputeCapability;
use warpladder::gemm::layout::Layout;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::compare::{self, Comparer, Options, Peer, PeerComparison};
use warpladder_lab::engine;
use warpladder_lab::problem::Shape;

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
    // Without a GPU the comparison itself says so.
    if warpladder::device::devices().is_ok_and(|gpus| !gpus.is_empty()) {
        let device = select::device(None)?;
        // Kernel and peer in turn, each after the pause.
        let samples = 2.0 * (options.reps + OTHER_LAUNCHES) as f64;
        let seconds = |&(rung, shape, ..): &(&Rung, Shape, Layout, Peer)| {
            samples * (options.rest.as_secs_f64() + estimate::on_gpu(&device, rung, shape))
        };
        estimate::announce(
            cases.iter().map(seconds).sum(),
            "fewer sizes, less --reps or --rest take less, and Ctrl-C keeps what is done",
        )?;
    }
    let progress = progress::of_pieces(all)?;
    let mut comparisons = Vec::new();
    let work = move |results: &Results<PeerComparison>| {
        let engine = engine::gpu(0)?;
        let comparer = Comparer::new(&engine, options);
        for (rung, shape, layout, peer) in cases {
            let comparison = comparer.compare(rung, shape, layout, peer)?;
            if results.hand(comparison).is_break() {
                break;
            }
        }
        Ok(())
    };
    let ending = interrupt::attend(None, work, |comparison| {
        progress.set_message(comparison.kernel.clone());
        progress.inc(1);
        comparisons.push(comparison);
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
    if ending == Ending::Complete {
        return Ok(outcome);
    }
    writeln!(human, "interrupted: {} of {all} done", comparisons.len())?;
    Ok(Outcome::Interrupted)
}

/// Launches beside the samples: checks and warm-ups. Those that choose an algorithm are not known
/// before.
const OTHER_LAUNCHES: usize = 7;

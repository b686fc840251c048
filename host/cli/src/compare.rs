//! `warpladder compare`.

use super::choices::{PEERS, one_of, positive};
use super::interrupt::{self, Ending, Results};
use super::output::{Destination, human_output};
use super::shape::{Compared, ProblemArgs};
use super::{estimate, progress, select, table, units};
use crate::outcome::Outcome;
use comfy_table::Table;
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;
use warpladder::gemm::layout::Layout;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::compare::{Comparer, Options, Peer, PeerComparison};
use warpladder_lab::engine;
use warpladder_lab::problem::Shape;
use warpladder_lab::run::describe;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder compare sgemm --shape 1024,4096,4095x33x1000
  warpladder compare dgemm --shape 2048 --layout nn,nt,tn,tt")]
pub(super) struct Args {
    /// The kernels
    #[arg(required = true, value_name = "KERNEL", value_delimiter = ',')]
    kernels: Vec<String>,
    /// What to compare with [default: cublas for products, memcpy for transposes]
    #[arg(long, value_parser = one_of(PEERS))]
    peer: Option<Peer>,
    #[command(flatten)]
    problems: ProblemArgs<Compared>,
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
    let work = move |results: &Results<(&'static Rung, PeerComparison)>| {
        let engine = engine::gpu(0)?;
        let comparer = Comparer::new(&engine, options);
        for (rung, shape, layout, peer) in cases {
            let comparison = comparer.compare(rung, shape, layout, peer)?;
            if results.hand((rung, comparison)).is_break() {
                break;
            }
        }
        Ok(())
    };
    let ending = interrupt::attend(None, work, |(rung, comparison)| {
        progress.set_message(rung.name);
        progress.inc(1);
        comparisons.push((rung, comparison));
        Ok(())
    });
    progress.finish_and_clear();
    let ending = ending?;
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    if let Some(json) = json {
        let records: Vec<&PeerComparison> = comparisons.iter().map(|(_, record)| record).collect();
        json.write_records("compare", comparisons.len() == all, &records)?;
    }
    let outcome = print(&mut human, &comparisons, args.wide)?;
    if ending == Ending::Complete {
        return Ok(outcome);
    }
    writeln!(human, "interrupted: {} of {all} done", comparisons.len())?;
    Ok(Outcome::Interrupted)
}

/// Launches beside the samples: checks and warm-ups.
const OTHER_LAUNCHES: usize = 7;

/// The size of a comparison.
fn size(rung: &Rung, record: &PeerComparison) -> String {
    let shape = Shape {
        m: record.m,
        n: record.n,
        k: record.k.unwrap_or_default(),
    };
    describe(rung.operation, shape)
}

/// What fits a terminal.
fn compact_table(comparisons: &[(&Rung, PeerComparison)]) -> Table {
    let mut table = table::new(&["kernel", "size", "check", "peer", "ms", "peer ms", "ratio"]);
    for (rung, record) in comparisons {
        table.add_row([
            (&record.kernel).into(),
            size(rung, record).into(),
            table::verdict(record.ok),
            record.peer.as_str().into(),
            table::number(Some(record.median_ms)),
            table::number(Some(record.peer_ms)),
            table::number(Some(record.ratio)),
        ]);
    }
    table::align_numbers(&mut table, 4);
    table
}

fn wide_table(comparisons: &[(&Rung, PeerComparison)]) -> Table {
    let mut table = table::new(&[
        "kernel", "element", "size", "layout", "check", "peer", "ms", "peer ms", "GFLOP/s", "peer",
        "GB/s", "peer", "ratio", "low", "high", "error", "peer's",
    ]);
    for (rung, record) in comparisons {
        table.add_row([
            (&record.kernel).into(),
            record.element.into(),
            size(rung, record).into(),
            record.layout.to_string().into(),
            table::verdict(record.ok),
            record.peer.as_str().into(),
            table::number(Some(record.median_ms)),
            table::number(Some(record.peer_ms)),
            table::number(record.gflops),
            table::number(record.peer_gflops),
            table::number(Some(record.gbs)),
            table::number(Some(record.peer_gbs)),
            table::number(Some(record.ratio)),
            table::number(Some(record.ratio_low)),
            table::number(Some(record.ratio_high)),
            table::number(record.error),
            table::number(record.peer_error),
        ]);
    }
    table::align_numbers(&mut table, 6);
    table
}

fn print(
    to: &mut dyn Write,
    comparisons: &[(&Rung, PeerComparison)],
    wide: bool,
) -> anyhow::Result<Outcome> {
    if comparisons.is_empty() {
        return Ok(Outcome::Done);
    }
    if let Some((_, first)) = comparisons.first() {
        writeln!(to, "{}, {} samples of each", first.device, first.samples)?;
    }
    let table = match wide {
        true => wide_table(comparisons),
        false => compact_table(comparisons),
    };
    writeln!(to, "{table}")?;
    writeln!(
        to,
        "ratio: how many times as fast as the peer, the median of neighbouring samples and its \
         quartiles"
    )?;
    if comparisons.len() > 1 {
        let logarithms = comparisons.iter().map(|(_, record)| record.ratio.ln());
        let mean = (logarithms.sum::<f64>() / comparisons.len() as f64).exp();
        let ratios = comparisons.iter().map(|(_, record)| record.ratio);
        let least = ratios.fold(f64::INFINITY, f64::min);
        writeln!(
            to,
            "geometric mean of {} ratios: {mean:.3}, the least {least:.3}",
            comparisons.len()
        )?;
    }
    let failed: Vec<&PeerComparison> = comparisons
        .iter()
        .map(|(_, record)| record)
        .filter(|record| !record.ok)
        .collect();
    for record in &failed {
        let complaint = record.complaint.as_deref().unwrap_or("the output is wrong");
        writeln!(to, "{}: {complaint}", record.kernel)?;
    }
    if failed.is_empty() {
        writeln!(to, "{}", units::all_passed(comparisons.len()))?;
        Ok(Outcome::Done)
    } else {
        let (wrong, all) = (failed.len(), comparisons.len());
        writeln!(to, "{wrong} of {all} checks failed")?;
        Ok(Outcome::ChecksFailed)
    }
}

//! `warpladder scale links` and `warpladder calibrate --links`.

use super::ranks::{RankArgs, Work};
use crate::outcome::Outcome;
use crate::output::{Destination, human_output};
use crate::{table, units};
use std::io::Write;
use warpladder::gpu::Gpu;
use warpladder_models::links::{Link, fit};
use warpladder_scale::ScaleError;
use warpladder_scale::comm::Communicator;
use warpladder_scale::links::{Sample, measure};

/// The largest message, and how often each size is timed, where nothing is given.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;
const DEFAULT_REPETITIONS: u32 = 10;

/// The largest message of emulated ranks: copies through the host's memory show nothing more.
const MAX_EMULATED_BYTES: u64 = 1 << 16;

#[derive(clap::Args)]
#[command(after_help = "\
Each rank sends to the next and receives from the one before; an all-gather has the bus bandwidth \
that nccl-tests reports. `scale predict` takes the figures as --link-gbs.

Example:
  warpladder scale links --emulate 2 --max-bytes 4KiB")]
pub(crate) struct Args {
    #[command(flatten)]
    ranks: RankArgs,
    /// The largest message
    #[arg(long, default_value_t = DEFAULT_MAX_BYTES, value_parser = super::bytes, value_name = "BYTES")]
    max_bytes: u64,
    /// How often each size is timed
    #[arg(long, default_value_t = DEFAULT_REPETITIONS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Write the results as JSON as well; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

impl Args {
    /// All GPUs, as without arguments.
    pub(crate) fn of_gpus(json: Option<String>) -> Self {
        Args {
            ranks: RankArgs::default(),
            max_bytes: DEFAULT_MAX_BYTES,
            repetitions: DEFAULT_REPETITIONS,
            json,
        }
    }
}

#[derive(serde::Serialize)]
struct Record {
    kind: &'static str,
    device: String,
    emulated: bool,
    ranks: usize,
    link: Option<Link>,
    samples: Vec<Sample>,
}

struct Measurement {
    sizes: Vec<u64>,
    repetitions: usize,
}

impl Work for Measurement {
    type Outcome = Vec<Sample>;

    fn of_rank<C: Communicator>(&self, comm: &C, gpu: &Gpu) -> Result<Self::Outcome, ScaleError> {
        measure(comm, gpu, &self.sizes, self.repetitions)
    }
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let ranks = args.ranks.count()?;
    let largest = match args.ranks.is_emulated() {
        true => args.max_bytes.min(MAX_EMULATED_BYTES),
        false => args.max_bytes,
    };
    let sizes = std::iter::successors(Some(1u64 << 10), |bytes| bytes.checked_mul(4));
    let work = Measurement {
        sizes: sizes
            .take_while(|&bytes| bytes <= largest.max(1 << 10))
            .collect(),
        repetitions: args.repetitions as usize,
    };
    let done = args.ranks.run(&work)?;
    let Some(samples) = done.of_first else {
        return Ok(Outcome::Done);
    };
    let messages: Vec<[f64; 2]> = samples
        .iter()
        .map(|sample| [sample.bytes as f64, sample.exchange_seconds])
        .collect();
    let record = Record {
        kind: "links",
        device: done.device,
        emulated: done.emulated,
        ranks,
        link: fit(&messages),
        samples,
    };
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    print(&mut human, &record)?;
    if let Some(json) = json {
        json.write_records("scale", true, &[record])?;
    }
    Ok(Outcome::Done)
}

fn print(to: &mut dyn Write, record: &Record) -> anyhow::Result<()> {
    writeln!(
        to,
        "messages between {} ranks on {}",
        record.ranks, record.device
    )?;
    let mut rows = table::new(&["bytes", "exchange us", "all-gather us", "bus GB/s"]);
    for sample in &record.samples {
        rows.add_row([
            units::bytes(sample.bytes).into(),
            table::number(Some(sample.exchange_seconds * 1e6)),
            table::number(Some(sample.all_gather_seconds * 1e6)),
            table::number(Some(sample.all_gather_bus_gbs)),
        ]);
    }
    table::align_numbers(&mut rows, 0);
    writeln!(to, "{rows}")?;
    if record.emulated {
        writeln!(
            to,
            "Ranks are emulated: these are copies by the CPU, and no link."
        )?;
    } else if let Some(link) = record.link {
        let Link { latency_us, gbs } = link;
        writeln!(
            to,
            "a message takes {latency_us:.1} us and its bytes at {gbs:.1} GB/s"
        )?;
    }
    Ok(())
}

//! `warpladder scale run`.

use super::predict;
use super::ranks::{RankArgs, Work};
use crate::outcome::Outcome;
use crate::output::{Destination, human_output};
use crate::shape::ShapeArg;
use crate::{table, units};
use half::bf16;
use std::io::Write;
use warpladder::element::ElementType;
use warpladder::gpu::Gpu;
use warpladder_models::links::Method;
use warpladder_scale::ScaleError;
use warpladder_scale::comm::Communicator;
use warpladder_scale::dist::{Algorithm, Shape};
use warpladder_scale::trial::{self, Trial, slow_ranks};

#[derive(clap::Args)]
#[command(after_help = "\
Without --emulate it takes the GPUs that a launcher gives each process (torchrun, srun, mpirun), or \
all of this machine, and NCCL (libnccl.so.2).

Examples:
  warpladder scale run --emulate 3 --shape 97x61x83 --element bf16 --algorithm all-gather
  warpladder scale run --emulate 4 --shape 64 --algorithm summa:2x2 --json trial.json")]
pub(super) struct Args {
    #[command(flatten)]
    ranks: RankArgs,
    /// Size of the product: N, MxN or MxNxK
    #[arg(long, default_value = "128", value_name = "SIZE")]
    shape: ShapeArg,
    /// Element type of A and B; C is of f32, or of f64 with it
    #[arg(long, default_value = "f32", value_parser = super::element)]
    element: ElementType,
    /// Store C in 16 bits, with elements of 16 bits: all-gather alone does
    #[arg(long)]
    c_16bit: bool,
    /// all-gather, reduce-scatter, summa:PxQ, or auto: what the model of an H200's links says
    #[arg(long, default_value = "auto")]
    algorithm: String,
    /// In how many chunks each block is exchanged
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u16).range(1..))]
    chunks: u16,
    /// How often it is timed
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Write the results as JSON as well; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(serde::Serialize)]
struct Record {
    kind: &'static str,
    device: String,
    emulated: bool,
    ranks: usize,
    algorithm: String,
    m: usize,
    n: usize,
    k: usize,
    element: ElementType,
    c_16bit: bool,
    chunks: u16,
    tflops: f64,
    hidden: f64,
    slow_ranks: Vec<usize>,
    outcomes: Vec<trial::Outcome>,
}

struct OneTrial {
    trial: Trial,
    element: ElementType,
    c_16bit: bool,
}

impl Work for OneTrial {
    type Outcome = Vec<trial::Outcome>;

    fn of_rank<C: Communicator>(&self, comm: &C, gpu: &Gpu) -> Result<Self::Outcome, ScaleError> {
        let trial = &self.trial;
        match (self.element, self.c_16bit) {
            (ElementType::F16, false) => trial::run::<C, half::f16, f32>(comm, gpu, trial),
            (ElementType::F16, true) => trial::run::<C, half::f16, half::f16>(comm, gpu, trial),
            (ElementType::Bf16, false) => trial::run::<C, bf16, f32>(comm, gpu, trial),
            (ElementType::Bf16, true) => trial::run::<C, bf16, bf16>(comm, gpu, trial),
            (ElementType::F32, _) => trial::run::<C, f32, f32>(comm, gpu, trial),
            (ElementType::F64, _) => trial::run::<C, f64, f64>(comm, gpu, trial),
        }
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let ranks = args.ranks.count()?;
    let ShapeArg(size) = args.shape;
    let [m, n, k] = [size.m, size.n, size.k].map(|extent| extent as usize);
    let shape = Shape { m, n, k };
    let algorithm = match args.algorithm.as_str() {
        "auto" => chosen(args, shape, ranks)?,
        given => given.parse().map_err(anyhow::Error::msg)?,
    };
    let trial = Trial {
        algorithm,
        shape,
        chunks: args.chunks.into(),
        repetitions: args.repetitions as usize,
    };
    let work = OneTrial {
        trial,
        element: args.element,
        c_16bit: args.c_16bit,
    };
    let done = args.ranks.run(&work)?;
    let Some(outcomes) = done.of_first else {
        // Rank 0 speaks for all.
        return Ok(Outcome::Done);
    };
    let seconds = outcomes.iter().map(|of| of.seconds).fold(0.0, f64::max);
    let own: Vec<f64> = outcomes.iter().map(|of| of.products_seconds).collect();
    let record = Record {
        kind: "trial",
        device: done.device,
        emulated: done.emulated,
        ranks,
        algorithm: algorithm.to_string(),
        m,
        n,
        k,
        element: args.element,
        c_16bit: args.c_16bit,
        chunks: args.chunks,
        tflops: shape.flops() / seconds * 1e-12,
        hidden: outcomes
            .iter()
            .map(trial::Outcome::hidden)
            .fold(1.0, f64::min),
        slow_ranks: slow_ranks(&own),
        outcomes,
    };
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    print(&mut human, &record)?;
    let is_right = record.outcomes.iter().all(trial::Outcome::is_right);
    if let Some(json) = json {
        json.write_records("scale", true, &[record])?;
    }
    Ok(match is_right {
        true => Outcome::Done,
        false => Outcome::ChecksFailed,
    })
}

/// The algorithm that the model says is the fastest.
fn chosen(args: &Args, shape: Shape, ranks: usize) -> anyhow::Result<Algorithm> {
    let predicted = predict::slowest(shape, args.element, ranks)?;
    Ok(match predicted.method {
        Method::AllGather => Algorithm::AllGather,
        // It adds rounded sums, or needs sums of 32 bits.
        _ if args.c_16bit => Algorithm::AllGather,
        Method::ReduceScatter => Algorithm::ReduceScatter,
        Method::Summa(grid) => Algorithm::Summa(grid),
    })
}

fn print(to: &mut dyn Write, record: &Record) -> anyhow::Result<()> {
    let Record { m, n, k, .. } = record;
    writeln!(
        to,
        "{m} x {n} x {k} of {} by {} on {}",
        record.element, record.algorithm, record.device
    )?;
    let times = if record.emulated { "CPU ms" } else { "ms" };
    let mut rows = table::new(&[
        "rank", "received", "formula", times, "products", "exchange", "",
    ]);
    for of in &record.outcomes {
        rows.add_row([
            of.rank.to_string().into(),
            units::bytes(of.received_bytes).into(),
            units::bytes(of.formula_bytes).into(),
            table::number(Some(of.seconds * 1e3)),
            table::number(Some(of.products_seconds * 1e3)),
            table::number(Some(of.exchange_seconds * 1e3)),
            table::verdict(of.is_right()),
        ]);
    }
    table::align_numbers(&mut rows, 0);
    writeln!(to, "{rows}")?;
    let wrong: u64 = record.outcomes.iter().map(|of| of.wrong_rows).sum();
    if wrong > 0 {
        writeln!(to, "{wrong} rows of C are wrong")?;
    }
    if record.emulated {
        writeln!(to, "Times are the CPU's: they say nothing of a GPU.")?;
        return Ok(());
    }
    if !record.slow_ranks.is_empty() {
        writeln!(to, "slow: the GPUs of ranks {:?}", record.slow_ranks)?;
    }
    writeln!(
        to,
        "{:.1} TFLOP/s, {:.0} % of the exchanges hidden",
        record.tflops,
        100.0 * record.hidden
    )?;
    Ok(())
}

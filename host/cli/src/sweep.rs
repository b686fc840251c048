//! `warpladder sweep`.

use super::choices::{SWEPT, one_of};
use super::output::{Destination, human_output};
use super::select::{self, Size};
use super::table;
use crate::outcome::Outcome;
use anyhow::bail;
use std::io::Write;
use warpladder::engine::EngineChoice;
use warpladder_lab::engine;
use warpladder_lab::sweep::{self, Over, Sweep};

#[derive(clap::Args)]
#[command(after_help = "\
The knee is where the rise of the first point would reach the best throughput.

Example:
  warpladder sweep matvec_lcs --device \"GTX 1080\" --svg curve.svg")]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    /// What to vary
    #[arg(long, value_parser = one_of(SWEPT), default_value = "warps")]
    over: Over,
    /// Predict for this GPU, and measure nothing [default: measure on this machine's GPU, else
    /// predict for an H200]
    #[arg(long, value_name = "D")]
    device: Option<String>,
    #[command(flatten)]
    size: Size,
    /// Write the points as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Draw them; - is standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
}

/// Seed of the inputs.
const SEED: u64 = 1;

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rung = select::kernel(&args.kernel)?;
    let [json, svg] = Destination::open_both([args.json.as_deref(), args.svg.as_deref()])?;
    let device = select::device(args.device.as_deref())?;
    let gpu = match args.device {
        None => engine::open(EngineChoice::Gpu).ok().map(|(gpu, _)| gpu),
        Some(_) => None,
    };
    let shape = args.size.shape(select::PREDICTED_SIZE);
    let sweep = sweep::sweep(&device, gpu.as_deref(), rung, args.over, shape, SEED)?;
    if sweep.points.is_empty() {
        bail!("not one warp of {} fits: choose another device", rung.name);
    }
    let mut human = human_output(json.iter().chain(&svg).any(Destination::is_stdout));
    if let Some(json) = json {
        json.write_json(&sweep)?;
    }
    if let Some(svg) = svg {
        svg.write(warpladder_report::sweep_plot(&sweep).file()?.as_bytes())?;
    }
    print(&mut human, &sweep)?;
    Ok(Outcome::Done)
}

fn print(to: &mut dyn Write, sweep: &Sweep) -> anyhow::Result<()> {
    let x = match sweep.over {
        Over::Warps => "warps",
        Over::Size => "size",
        Over::Block => "threads",
    };
    writeln!(to, "{} on {}", sweep.kernel, sweep.device)?;
    let (predicted, measured) = (
        format!("predicted {}", sweep.unit),
        format!("measured {}", sweep.unit),
    );
    let mut table = table::new(&[
        x,
        &predicted,
        &measured,
        "predicted/measured time",
        "bound by",
    ]);
    for point in &sweep.points {
        let ratio = point.measured.map(|measured| measured / point.predicted);
        table.add_row([
            point.x.into(),
            table::number(Some(point.predicted)),
            table::number(point.measured),
            table::number(ratio),
            point.bound.to_string().into(),
        ]);
    }
    writeln!(to, "{table}")?;
    if let Some(knee) = sweep.predicted_knee {
        write!(to, "predicted knee: {knee:.1} {x}")?;
        match sweep.measured_knee {
            Some(measured) => writeln!(to, "; measured: {measured:.1}")?,
            None => writeln!(to)?,
        }
    }
    Ok(())
}

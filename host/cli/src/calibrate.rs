//! `warpladder calibrate`.

use super::output::{Destination, human_output};
use super::{scale, table};
use crate::outcome::Outcome;
use anyhow::Context;
use std::io::Write;
use warpladder::engine::EngineChoice;
use warpladder_lab::calibrate::{self, Extent};
use warpladder_lab::engine;
use warpladder_models::devices::Measured;

#[derive(clap::Args)]
#[command(after_help = "\
The figures are kept for this GPU, and `predict`, `sweep` and `explain` use them.

Example:
  warpladder calibrate --json figures.json")]
pub(super) struct Args {
    /// Write the figures as JSON as well; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Do not keep them for this GPU
    #[arg(long)]
    no_save: bool,
    /// Measure the links between this machine's GPUs instead, through NCCL, as `scale links` does
    #[arg(long, conflicts_with = "no_save")]
    links: bool,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    if args.links {
        return scale::measure_links(&scale::LinksArgs::of_gpus(args.json.clone()));
    }
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let gpus = warpladder::device::devices()?;
    let gpu = gpus
        .first()
        .context("the driver lists no GPU: calibrate where there is one")?;
    let (engine, _) = engine::open(EngineChoice::Gpu)?;
    let extent = Extent::of_gpu(gpu.l2_bytes);
    let measured = calibrate::calibrate(&*engine, &extent)?;
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    if let Some(json) = json {
        json.write_records("calibrate", true, &[&measured])?;
    }
    print(&mut human, &measured)?;
    if !args.no_save {
        let path = calibrate::save(&measured)?;
        writeln!(human, "kept in {}", path.display())?;
    }
    Ok(Outcome::Done)
}

fn print(to: &mut dyn Write, measured: &Measured) -> anyhow::Result<()> {
    writeln!(to, "{}", measured.device)?;
    let mut table = table::new(&[
        "figure",
        "unit",
        "median",
        "lower quartile",
        "upper quartile",
    ]);
    for figure in &measured.figures {
        table.add_row([
            figure.name.as_str().into(),
            figure.unit.as_str().into(),
            table::number(Some(figure.median)),
            table::number(Some(figure.low)),
            table::number(Some(figure.high)),
        ]);
    }
    table::align_numbers(&mut table, 2);
    writeln!(to, "{table}")?;
    Ok(())
}

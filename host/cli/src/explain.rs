//! `warpladder explain`.

use super::output::{Destination, human_output};
use super::progress;
use super::select::{self, Target};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use std::io::Write;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::predict::check_forecast;
use warpladder_report::explain::{Explainer, page, terminal};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder explain tiled_32 --device A100 --shape 2048
  warpladder explain naive --markdown > naive.md")]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    #[command(flatten)]
    target: Target,
    /// Print Markdown instead of text for a terminal
    #[arg(long)]
    markdown: bool,
    /// Write the explanation as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rung = select::kernel(&args.kernel)?;
    let device = args.target.device()?;
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let shape = args.target.shape(rung)?;
    check_forecast(&device, rung, shape, None)?;
    let explainer = Explainer::new(device, shape);
    let kernels = explainer.to_predict(rung);
    let emulator = EmulatorEngine::new();
    let speed = EmulatorSpeed::measure(&emulator, args.target.shapes.seed)?;
    let predictions = kernels.iter().map(|of| (*of, explainer.shape()));
    estimate::announce(
        speed.predictions_by_all_cores(predictions),
        "kernels that compute the same are predicted as well; a smaller --shape takes less",
    )?;
    let progress = progress::of_pieces(kernels.len())?;
    let explanation = explainer.explain_with_progress(rung, &|of| {
        progress.set_message(of.name);
        progress.inc(1);
    })?;
    progress.finish_and_clear();
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    if let Some(json) = json {
        json.write_records("explain", true, &[&explanation])?;
    }
    let page = page(&explanation);
    match args.markdown {
        true => write!(human, "{page}")?,
        false => write!(human, "{}", terminal(&page, columns()))?,
    }
    Ok(Outcome::Done)
}

/// Columns of the terminal; as many as a printed page has where there is none.
fn columns() -> usize {
    const WITHOUT_TERMINAL: usize = 100;
    let table = comfy_table::Table::new();
    table.width().map_or(WITHOUT_TERMINAL, usize::from)
}

//! `warpladder explain`.

use super::output::{Destination, human_output};
use super::select::{self, Target};
use crate::outcome::Outcome;
use std::io::Write;
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
    let explanation = Explainer::new(device, args.target.shape(rung)?).explain(rung)?;
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

//! `warpladder explain`.

use super::output::{Destination, human_output};
use super::select::{self, Target};
use crate::outcome::Outcome;
use std::io::Write;
use warpladder_report::explain::{Explainer, page};

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  warpladder explain tiled_32 --device A100 --shape 2048")]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    #[command(flatten)]
    target: Target,
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
    write!(human, "{}", page(&explanation))?;
    Ok(Outcome::Done)
}

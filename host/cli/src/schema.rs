//! `warpladder schema`.

use super::output;
use crate::outcome::Outcome;
use std::io::Write;

/// The JSON schema of what `--json` writes.
const SCHEMA: &str = include_str!("../results.schema.json");

#[derive(clap::Args)]
#[command(after_help = "\
docs/results.md says what the fields mean.

Example:
  warpladder schema > results.schema.json")]
pub(super) struct Args {}

pub(super) fn execute(_: &Args) -> anyhow::Result<Outcome> {
    write!(output::stdout(), "{SCHEMA}")?;
    Ok(Outcome::Done)
}

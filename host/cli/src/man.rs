//! `warpladder man`.

use super::{command, output};
use crate::outcome::Outcome;
use anyhow::Context;
use clap_mangen::Man;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder man > warpladder.1
  warpladder man --out man1")]
pub(super) struct Args {
    /// Write the pages of the program and of each command into this folder, which is made where it
    /// is missing
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        Man::new(command()).render(&mut page)?;
        output::stdout().write_all(&page)?;
        return Ok(Outcome::Done);
    };
    let advice = || {
        format!(
            "cannot write to {}: choose another folder",
            folder.display()
        )
    };
    std::fs::create_dir_all(folder).with_context(advice)?;
    clap_mangen::generate_to(command(), folder).with_context(advice)?;
    let pages = std::fs::read_dir(folder).with_context(advice)?.count();
    writeln!(output::stdout(), "{pages} pages in {}", folder.display())?;
    Ok(Outcome::Done)
}

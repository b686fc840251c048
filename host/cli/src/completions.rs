//! `warpladder completions`.

use super::{command, output};
use crate::outcome::Outcome;
use clap_complete::Shell;
use std::io::Write;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder completions bash > warpladder.bash
  warpladder completions zsh > _warpladder
  warpladder completions fish > warpladder.fish

Bash reads them from ~/.local/share/bash-completion/completions, fish from \
~/.config/fish/completions, and zsh from the \
folders of its fpath.")]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let mut command = command();
    let name = command.get_name().to_owned();
    // Not to the output itself: the generator panics where that cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output::stdout().write_all(&script)?;
    Ok(Outcome::Done)
}

//! The command line.
//!
//! Exit status: 0 all right, 1 a check failed, 2 wrong usage or environment.

mod list;
mod output;
mod run;
mod table;

use clap::{Parser, Subcommand};
use std::io;
use std::process::ExitCode;

/// GPU kernels in Rust: run, checked and timed, on an NVIDIA GPU or without one
#[derive(Parser)]
#[command(name = "warpladder", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Subcommand)]
enum Command {
    /// Run kernels of the catalogue: check them, then time them (the default)
    Run(run::Args),
    /// List every kernel of the catalogue
    List(list::Args),
}

/// What a command came to.
enum Outcome {
    /// Everything was right.
    Done,
    /// A check failed.
    ChecksFailed,
}

/// Parses the arguments, runs the command and turns its outcome into the exit status.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(Command::Run(args)) => run::execute(&args),
        Some(Command::List(args)) => list::execute(&args),
        None => run::execute(&cli.run),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::ChecksFailed) => ExitCode::from(1),
        // The reader of a pipe went away, as `head` does: nothing is wrong.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}

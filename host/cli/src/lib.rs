//! The command line.
//!
//! Exit status: 0 all right, 1 a check failed or a kernel is slower than its baseline, 2 wrong
//! usage or environment, 130 interrupted.

mod baseline;
mod calibrate;
mod child;
mod choices;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod compare;
mod completions;
mod conditions;
mod cuda;
mod debug;
mod devices;
mod doctor;
mod draw;
mod emulate;
mod estimate;
mod explain;
mod interrupt;
mod learn;
mod list;
mod man;
mod new;
mod outcome;
mod output;
mod predict;
mod profile;
mod progress;
mod report;
mod reproduce;
mod run;
mod sanitize;
mod scale;
mod schema;
mod select;
mod shape;
mod sweep;
mod table;
mod tune;
mod units;

use clap::{CommandFactory, Parser, Subcommand};
use outcome::Outcome;
use std::io::Write;
use std::process::ExitCode;

/// GPU kernels in Rust: run, checked and timed, on an NVIDIA GPU or without one
#[derive(Parser)]
#[command(
    name = "warpladder",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  warpladder --family transpose
  warpladder explain tiled_32
  warpladder profile naive --shape 64

Exit status: 0 all right, 1 a check failed or a kernel is slower than its baseline, 2 wrong usage \
or environment, 130 interrupted: what is done by then is kept."
)]
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
    /// Look for races, wrong addresses, uninitialised reads and broken barriers, on the emulator
    Sanitize(sanitize::Args),
    /// Run a kernel of any PTX file on the emulator
    Emulate(emulate::Args),
    /// Step through a kernel on the emulator: breakpoints, registers of all lanes, shared memory,
    /// why each warp waits
    Debug(debug::Args),
    /// Run any program for CUDA on an emulated driver and runtime, unmodified
    Cuda(cuda::Args),
    /// Learn to write kernels: exercises, checked without a GPU
    Learn(learn::Args),
    /// Make a crate for kernels of your own: a kernel, a program that runs it, a test
    New(new::Args),
    /// List every kernel of the catalogue
    List(list::Args),
    /// Time kernels beside cuBLAS or a copy, in turn on one GPU, and check both
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    Compare(compare::Args),
    /// Find the fastest way to compute products of a size on this device, and keep it for programs
    /// that use the library
    Tune(tune::Args),
    /// Set the sources' figures and steps beside ours
    Reproduce(reproduce::Args),
    /// Make one page of everything that was measured, predicted and counted, as a self-contained
    /// HTML file
    Report(report::ReportArgs),
    /// Draw the plots of the report as SVG files
    Plot(report::PlotArgs),
    /// Say what every GPU of this machine is
    Devices(devices::Args),
    /// Say what works here, and what to do about the rest
    Doctor(doctor::Args),
    /// Measure what the models need to know of this machine's GPU, and keep it
    Calibrate(calibrate::Args),
    /// Predict how long a kernel takes on a GPU, and what it is bound by
    Predict(predict::Args),
    /// Explain a kernel on one page: its source with counters, where it stands, and what would help
    /// most
    Explain(explain::Args),
    /// Multiply matrices larger than a GPU, or on several GPUs, and predict how that scales
    Scale(scale::Args),
    /// Throughput over warps, sizes or blocks: predicted, and measured where there is a GPU
    Sweep(sweep::Args),
    /// Run one kernel on the emulator and say what it does to the machine, line by line
    Profile(profile::Args),
    /// Draw which lane of a warp touches which sector of global memory and which bank of shared
    /// memory, as an SVG file
    Draw(draw::Args),
    /// Print what lets a shell complete the arguments
    Completions(completions::Args),
    /// Print the JSON schema of what `--json` writes
    Schema(schema::Args),
    /// Print the manual page, or write it and those of all commands
    Man(man::Args),
}

/// The command line, as clap knows it: what the completions, the manual pages and the tests of its
/// examples are made from.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the arguments, runs the command and turns its outcome into the exit status.
pub fn main() -> ExitCode {
    interrupt::install();
    match Cli::try_parse() {
        Ok(cli) => {
            let status = exit_status(execute(cli));
            interrupt::end_without_thread(status);
            ExitCode::from(status)
        }
        // Help and the version are asked for as an error, too.
        Err(answer) if !answer.use_stderr() => {
            // A closed standard error is no failure.
            _ = answer.print();
            ExitCode::SUCCESS
        }
        Err(error) => {
            let mut message = error.to_string();
            if let Some(tip) = subcommand_tip(&error) {
                message = message.replacen("\n\n", &format!("\n\n{tip}\n\n"), 1);
            }
            _ = writeln!(output::stderr(), "{}", one_line(&message));
            ExitCode::from(2)
        }
    }
}

fn execute(cli: Cli) -> anyhow::Result<Outcome> {
    match cli.command {
        Some(Command::Run(args)) => run::execute(&args),
        Some(Command::Sanitize(args)) => sanitize::execute(&args),
        Some(Command::Emulate(args)) => emulate::execute(&args),
        Some(Command::Debug(args)) => debug::execute(&args),
        Some(Command::Cuda(args)) => cuda::execute(&args),
        Some(Command::Learn(args)) => learn::execute(&args),
        Some(Command::New(args)) => new::execute(&args),
        Some(Command::List(args)) => list::execute(&args),
        #[cfg(all(target_os = "linux", feature = "gpu"))]
        Some(Command::Compare(args)) => compare::execute(&args),
        Some(Command::Tune(args)) => tune::execute(&args),
        Some(Command::Reproduce(args)) => reproduce::execute(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Plot(args)) => report::plot(&args),
        Some(Command::Devices(args)) => devices::execute(&args),
        Some(Command::Doctor(args)) => doctor::execute(&args),
        Some(Command::Calibrate(args)) => calibrate::execute(&args),
        Some(Command::Predict(args)) => predict::execute(&args),
        Some(Command::Explain(args)) => explain::execute(&args),
        Some(Command::Scale(args)) => scale::execute(&args),
        Some(Command::Sweep(args)) => sweep::execute(&args),
        Some(Command::Profile(args)) => profile::execute(&args),
        Some(Command::Draw(args)) => draw::execute(&args),
        Some(Command::Completions(args)) => completions::execute(&args),
        Some(Command::Schema(args)) => schema::execute(&args),
        Some(Command::Man(args)) => man::execute(&args),
        None => run::execute(&cli.run),
    }
}

/// Which command was meant, where clap names none: letters of a short word that have changed places
/// are enough for it to see no likeness.
fn subcommand_tip(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let is_named = error.get(ContextKind::SuggestedSubcommand).is_some();
    if error.kind() != ErrorKind::InvalidSubcommand || is_named {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let command = command();
    let distance = |name: &str| strsim::damerau_levenshtein(name, typed);
    let names = command.get_subcommands().map(clap::Command::get_name);
    let nearest = names.min_by_key(|name| distance(name))?;
    // One slip in a short word, two in a long one.
    let slips = 1 + usize::from(nearest.len() > 4);
    (distance(nearest) <= slips).then(|| format!("tip: did you mean {nearest}?"))
}

/// What is wrong with the arguments and the tips, without the usage that follows.
fn one_line(message: &str) -> String {
    let end = message.find("\n\nUsage:");
    let end = end.or_else(|| message.find("\n\nFor more information"));
    let problem = &message[..end.unwrap_or(message.len())];
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<String> = problem.split("\n\n").map(words).collect();
    format!("{} (see --help)", parts.join("; "))
}

/// The exit status of an outcome; an error goes to standard error.
fn exit_status(outcome: anyhow::Result<Outcome>) -> u8 {
    match outcome {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::ChecksFailed) => 1,
        Ok(Outcome::Interrupted) => interrupt::EXIT_STATUS,
        Ok(Outcome::Program(status)) => status,
        Err(error) => {
            _ = writeln!(output::stderr(), "error: {error:#}");
            2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn outcomes_have_their_exit_status() {
        assert_eq!(exit_status(Ok(Outcome::Done)), 0);
        assert_eq!(exit_status(Ok(Outcome::ChecksFailed)), 1);
        assert_eq!(exit_status(Err(anyhow::anyhow!("broken"))), 2);
    }
}

//! `warpladder doctor`: what works here, and what to do about the rest.

mod device;
mod kernels;
mod library;
mod program;
mod ptx;

use super::{output, table};
use crate::outcome::Outcome;
use anyhow::bail;
use comfy_table::{Cell, Color};
use cuda_builder::NvvmArch;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The tree that this program was built from.
const SOURCES: &str = warpladder::SOURCE_ROOT;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  warpladder doctor\n  warpladder doctor ../vecadd/kernels --arch sm_80"
)]
pub(super) struct Args {
    /// Folder of a crate of kernels to check in place of this machine, such as one written for
    /// Rust-CUDA
    kernels: Option<PathBuf>,
    /// GPU generation to compile the kernels for
    #[arg(long, default_value = "sm_70", requires = "kernels")]
    arch: NvvmArch,
}

/// How one thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It works.
    Ok,
    /// It is not here, and what it is for is left out.
    Missing,
    /// It is here and does not work.
    Wrong,
}

/// One line.
#[derive(Debug)]
struct Check {
    what: String,
    state: State,
    /// What was found; where that is not all right, also what to do about it.
    detail: String,
}

impl Check {
    fn new(what: impl Into<String>, state: State, detail: impl Into<String>) -> Self {
        Check {
            what: what.into(),
            state,
            detail: detail.into(),
        }
    }

    fn ok(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Check::new(what, State::Ok, detail)
    }

    fn missing(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Check::new(what, State::Missing, detail)
    }

    fn wrong(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Check::new(what, State::Wrong, detail)
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    match &args.kernels {
        Some(folder) => print(&kernels::all(folder, args.arch)),
        None => print(&machine()),
    }
}

/// What works on this machine.
fn machine() -> Vec<Check> {
    let sources = Path::new(SOURCES);
    let mut checks = vec![device::emulator(), device::processor()];
    checks.extend(device::gpus());
    checks.extend(library::all());
    checks.push(ptx::compiled_in());
    checks.push(ptx::sources(sources));
    checks.push(program::rustup());
    checks.push(program::nightly(&sources.join("kernels-gpu")));
    checks.push(program::ptxas());
    checks
}

fn print(checks: &[Check]) -> anyhow::Result<Outcome> {
    let mut table = table::new(&["what", "state", "detail"]);
    for check in checks {
        let state = match check.state {
            State::Ok => Cell::new("ok").fg(Color::Green),
            State::Missing => Cell::new("missing").fg(Color::Yellow),
            State::Wrong => Cell::new("wrong").fg(Color::Red),
        };
        table.add_row([Cell::new(&check.what), state, Cell::new(&check.detail)]);
    }
    table::fit(&mut table, 2);
    let mut stdout = output::stdout();
    writeln!(stdout, "{}", table.trim_fmt())?;
    let wrong: Vec<&str> = checks
        .iter()
        .filter(|check| check.state == State::Wrong)
        .map(|check| check.what.as_str())
        .collect();
    if !wrong.is_empty() {
        bail!("wrong: {}: their lines say what to do", wrong.join(", "));
    }
    writeln!(stdout, "nothing is wrong; what is missing is optional")?;
    Ok(Outcome::Done)
}

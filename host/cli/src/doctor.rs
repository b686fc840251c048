//! `warpladder doctor`: what works here, and what to do about the rest.

mod device;
mod library;
mod program;
mod ptx;

use super::{output, table};
use crate::outcome::Outcome;
use anyhow::bail;
use comfy_table::{Cell, Color};
use std::io::Write;
use std::path::Path;

/// The tree that this program was built from.
const SOURCES: &str = warpladder::SOURCE_ROOT;

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

pub(super) fn execute() -> anyhow::Result<Outcome> {
    let sources = Path::new(SOURCES);
    let mut checks = vec![device::emulator(), device::processor()];
    checks.extend(device::gpus());
    checks.extend(library::all());
    checks.push(ptx::compiled_in());
    checks.push(ptx::sources(sources));
    checks.push(program::rustup());
    checks.push(program::nightly(&sources.join("kernels-gpu")));
    checks.push(program::ptxas());

    let mut table = table::new(&["what", "state", "detail"]);
    for check in &checks {
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

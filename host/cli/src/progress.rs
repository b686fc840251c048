//! How far the work of a command is, as a terminal shows it.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// How often the clock on it moves while one step takes long.
const TICK: Duration = Duration::from_millis(500);

/// A bar of `all` steps. It draws on standard error, and only where that is a terminal.
pub(super) fn of_pieces(all: usize) -> anyhow::Result<ProgressBar> {
    styled(
        all as u64,
        "{bar:30} {pos} of {len} done, {elapsed}, about {eta} left {wide_msg}",
    )
}

/// A bar of estimated time, which is at least a millisecond.
pub(super) fn of_time(seconds: f64) -> anyhow::Result<ProgressBar> {
    styled(
        millis(seconds),
        "{bar:30} {msg}, {elapsed}, about {eta} left",
    )
}

/// Milliseconds, at least one: the unit of [`of_time`].
pub(super) fn millis(seconds: f64) -> u64 {
    1 + (seconds * 1e3) as u64
}

fn styled(length: u64, template: &str) -> anyhow::Result<ProgressBar> {
    let bar = ProgressBar::new(length).with_style(ProgressStyle::with_template(template)?);
    bar.enable_steady_tick(TICK);
    Ok(bar)
}

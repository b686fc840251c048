//! `warpladder run --baseline`.

use super::{choices, table};
use crate::outcome::Outcome;
use std::io::Write;
use std::path::PathBuf;
use warpladder_lab::baseline::{Baseline, Change, Comparison};
use warpladder_lab::run::Record;

#[derive(clap::Args)]
pub(super) struct BaselineArgs {
    /// Compare with a run that was saved by --json: exit status 1 where a kernel is slower
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Changes up to PERCENT percent do not count [default: 2 on a GPU, 10 on the emulator]
    #[arg(long, value_name = "PERCENT", requires = "baseline", value_parser = choices::positive)]
    floor: Option<f64>,
}

impl BaselineArgs {
    /// Whether there is something to compare with.
    pub(super) fn is_given(&self) -> bool {
        self.baseline.is_some()
    }

    /// Reads the saved run.
    pub(super) fn read(&self) -> anyhow::Result<Option<Saved>> {
        let Some(path) = &self.baseline else {
            return Ok(None);
        };
        Ok(Some(Saved {
            baseline: Baseline::read(path)?,
            floor: self.floor.map(|percent| percent / 100.0),
        }))
    }
}

/// A saved run.
pub(super) struct Saved {
    baseline: Baseline,
    floor: Option<f64>,
}

/// What comes out for each record: a comparison, or why there is none.
pub(super) struct Compared(Vec<Result<Comparison, String>>);

impl Saved {
    pub(super) fn compare(&self, records: &[Record]) -> Compared {
        let compare = |record| self.baseline.compare(record, self.floor);
        Compared(records.iter().map(compare).collect())
    }
}

impl Compared {
    /// The comparison of a record.
    pub(super) fn comparison(&self, index: usize) -> Option<Comparison> {
        self.0[index].as_ref().ok().copied()
    }

    /// Prints a row for each record that was compared, a line for each that was not, and how many
    /// are what. `outcome` is that of the run.
    pub(super) fn print(
        &self,
        to: &mut dyn Write,
        records: &[Record],
        outcome: Outcome,
    ) -> anyhow::Result<Outcome> {
        let mut table = table::new(&[
            "kernel", "then ms", "now ms", "ratio", "low", "high", "floor %", "change",
        ]);
        let compared = records.iter().zip(&self.0);
        for (record, comparison) in compared.clone() {
            let Ok(comparison) = comparison else {
                continue;
            };
            table.add_row([
                (&record.kernel).into(),
                table::number(Some(comparison.median_ms)),
                table::number(record.median_ms),
                table::number(Some(comparison.ratio)),
                table::number(Some(comparison.ratio_low)),
                table::number(Some(comparison.ratio_high)),
                table::number(Some(100.0 * comparison.floor)),
                table::change(comparison.change),
            ]);
        }
        table::align_numbers(&mut table, 1);
        writeln!(to, "\n{table}")?;
        writeln!(
            to,
            "ratio: how many times as long as in the saved run, with its 99 % interval"
        )?;
        let mut left_out = 0;
        for (record, comparison) in compared {
            if let Err(why) = comparison {
                writeln!(to, "{} not compared: {why}", record.kernel)?;
                left_out += 1;
            }
        }
        let count = |change| {
            let changes = self.0.iter().flatten();
            changes
                .filter(|comparison| comparison.change == change)
                .count()
        };
        let slower = count(Change::Slower);
        writeln!(
            to,
            "{slower} slower, {} faster, {} no change, {left_out} not compared",
            count(Change::Faster),
            count(Change::NoChange),
        )?;
        Ok(if slower > 0 {
            Outcome::ChecksFailed
        } else {
            outcome
        })
    }
}

//! What a run shows while it goes on: the table's rows, and how far it is.

use super::cases::{RunCase, Selection};
use super::rows::{Row, RunTable};
use super::worker::{self, Caveat, Progress};
use crate::progress::{self, millis};
use crate::table;
use indicatif::ProgressBar;
use std::io::Write;
use warpladder_lab::ladder::{self, Tally};
use warpladder_lab::run::{Record, Step};

/// The table, while it grows.
pub(super) struct Shown<'a> {
    selection: &'a Selection,
    table: RunTable,
    progress: ProgressBar,
    device: Option<&'a str>,
    /// The group of the last row.
    group: Option<usize>,
    records: Vec<Option<Record>>,
    caveats: Vec<(usize, Caveat)>,
    tallies: Vec<Option<Tally>>,
}

/// What is done.
pub(super) struct Done<'a> {
    pub cases: Vec<&'a RunCase>,
    pub records: Vec<Record>,
    pub tallies: Vec<Option<Tally>>,
    pub caveats: Vec<(&'a RunCase, Caveat)>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(
        selection: &'a Selection,
        device: Option<&'a str>,
        on_gpu: bool,
        wide: bool,
    ) -> anyhow::Result<Self> {
        let cases = selection.run.len();
        Ok(Shown {
            selection,
            table: RunTable::new(selection, device, on_gpu, wide),
            progress: progress::of_time(selection.seconds())?,
            device,
            group: None,
            records: vec![None; cases],
            caveats: Vec::new(),
            tallies: vec![None; cases],
        })
    }

    /// Prints what stands above the rows.
    pub(super) fn begin(&mut self, to: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(device) = self.device {
            let mut cases = self.selection.run.iter();
            let larger = cases.find(|case| case.predicted != case.admitted.shape());
            let line = match larger {
                Some(case) => format!(
                    "times are predicted for {device} at {}, from counters; outputs are checked \
                     here at {}",
                    case.predicted.m,
                    case.admitted.shape().m
                ),
                None => format!("times are predicted for {device}, from counters"),
            };
            writeln!(to, "{}", table::wrapped(&line, 2))?;
        }
        writeln!(to, "{}", self.table.header())?;
        Ok(())
    }

    /// Shows what the work hands over.
    pub(super) fn show(&mut self, to: &mut dyn Write, progress: Progress) -> anyhow::Result<()> {
        let cases = &self.selection.run;
        match progress {
            Progress::Begun(index) => {
                let name = cases[index].rung().name;
                let message = format!("{} of {}: {name}", index + 1, cases.len());
                self.progress.set_message(message);
                self.progress.tick();
            }
            Progress::Counted(index, tally) => self.tallies[index] = Some(tally),
            Progress::Done(index, record, caveat) => {
                self.caveats.extend(caveat.map(|caveat| (index, caveat)));
                self.records[index] = Some(*record);
                let step = self.step(index);
                let case = &cases[index];
                let Some(record) = &self.records[index] else {
                    return Ok(());
                };
                let row = self.table.row(&Row {
                    case,
                    record,
                    step: step.as_ref(),
                });
                let heading = (self.group != Some(case.group)).then(|| case.heading.clone());
                self.group = Some(case.group);
                self.progress.inc(millis(case.seconds));
                self.progress.suspend(|| {
                    if let Some(heading) = heading.flatten() {
                        writeln!(to, "{heading}")?;
                    }
                    writeln!(to, "{row}")?;
                    to.flush()
                })?;
            }
        }
        Ok(())
    }

    /// Takes the progress off the terminal.
    pub(super) fn end(&self) {
        self.progress.finish_and_clear();
    }

    fn step(&self, index: usize) -> Option<Step> {
        step(&self.selection.run, &self.records, index).map(|(step, _)| step)
    }

    pub(super) fn done(self) -> Done<'a> {
        let cases = &self.selection.run;
        let mut done = Done {
            cases: Vec::new(),
            records: Vec::new(),
            tallies: Vec::new(),
            caveats: Vec::new(),
        };
        for (index, caveat) in self.caveats {
            done.caveats.push((&cases[index], caveat));
        }
        let all = cases.iter().zip(self.records).zip(self.tallies);
        for ((case, record), tally) in all {
            let Some(record) = record else {
                continue;
            };
            done.cases.push(case);
            done.records.push(record);
            done.tallies.push(tally);
        }
        done
    }
}

/// The step of a case over the last one before it that computes the same at the same size, and
/// which one that is.
pub(super) fn step<C: std::borrow::Borrow<RunCase>>(
    cases: &[C],
    records: &[Option<Record>],
    index: usize,
) -> Option<(Step, usize)> {
    let record = |index: usize| records[index].as_ref().filter(|record| record.ok);
    let (case, now) = (cases[index].borrow(), record(index)?);
    let is_before = |&other: &usize| {
        let other = cases[other].borrow();
        worker::is_step(other.rung(), case.rung())
            && other.predicted == case.predicted
            && other.admitted.shape() == case.admitted.shape()
    };
    let before = (0..index).rev().find(is_before)?;
    let times = record(before)?.ranked_ms()? / now.ranked_ms()?;
    let over = cases[before].borrow().rung().name.to_owned();
    let step = Step {
        over,
        times,
        why: None,
    };
    Some((step, before))
}

impl Done<'_> {
    /// The step of each record, with what the counters say of it.
    pub(super) fn steps(&self) -> Vec<Option<Step>> {
        let records: Vec<Option<Record>> = self.records.iter().cloned().map(Some).collect();
        let of = |index| {
            let (mut step, before) = step(&self.cases, &records, index)?;
            if let (Some(before), Some(now)) = (&self.tallies[before], &self.tallies[index]) {
                step.why = ladder::why(before, now, step.times);
            }
            Some(step)
        };
        (0..self.cases.len()).map(of).collect()
    }
}

//! `warpladder run`.

mod cases;
mod prediction;
mod rows;
mod worker;

use super::choices::{CACHES, ENGINES, FAMILIES, one_of};
use super::interrupt::{self, Ending};
use super::output::{self, Destination, human_output};
use super::shape::{ByEngine, Shapes};
use super::{baseline, conditions, select, table, units};
use crate::outcome::Outcome;
use anyhow::bail;
use cases::{Conditions, Named, RunCase, Selection, about};
use indicatif::{ProgressBar, ProgressStyle};
use rows::{Row, RunTable};
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use warpladder::engine::{Engine, EngineChoice, EngineKind};
use warpladder_lab::catalogue::Family;
use warpladder_lab::engine;
use warpladder_lab::ladder::{self, Tally};
use warpladder_lab::run::{Cache, Detailed, Record, Sampling, Step};
use warpladder_models::devices::{self, DeviceModel};
use worker::{Progress, Work};

#[derive(clap::Args)]
#[command(after_help = "\
Without a GPU, kernels are checked on the emulator, and the table has the times that the model
predicts for a GPU (--device) from what the emulator counts. What the emulator itself takes comes
last, and says nothing of a GPU.

Ctrl-C ends the run and keeps what is done; the exit status is 130.

Examples:
  warpladder run --kernel naive,tiled_32 --shape 128
  warpladder run --kernel 'tiled*' --exclude 'tiled_guarded*' --shape 64 --device V100
  warpladder run --family transpose --json before.json
  warpladder run --family transpose --baseline before.json --floor 50
  warpladder run --kernel naive --shape 64 --precision 10 --time-limit 5")]
pub(super) struct Args {
    /// Where to run: auto takes the GPU where there is one
    #[arg(long, value_parser = one_of(ENGINES), default_value = "auto")]
    engine: EngineChoice,
    /// Only the kernels of this family
    #[arg(long, value_parser = one_of(FAMILIES))]
    family: Option<Family>,
    /// Only these kernels, by name, or by a pattern such as 'tiled*'
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    kernel: Vec<String>,
    /// Not these kernels, by name or pattern
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    exclude: Vec<String>,
    #[command(flatten)]
    shapes: Shapes<ByEngine>,
    /// Predict for this GPU of the table of devices; none predicts nothing [default: H200 where
    /// there is no GPU, else none]
    #[arg(long, value_name = "D")]
    device: Option<String>,
    /// Timed runs of each kernel [default: 1 on the emulator, 20 on a GPU; on either 20 with
    /// --baseline]
    #[arg(long, value_name = "R")]
    reps: Option<NonZeroUsize>,
    /// Take samples until the median is known to within PERCENT percent, with 95 % confidence, or
    /// for 10 s a kernel
    #[arg(long, value_name = "PERCENT", value_parser = positive)]
    precision: Option<f64>,
    /// End the run after SECONDS seconds with what is done by then; a kernel that runs at that time
    /// gets another second. What would take longer by itself is left out [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<Duration>,
    /// What the caches of a GPU hold when a timed run begins: what the one before left, or other
    /// data
    #[arg(long, value_parser = one_of(CACHES), default_value = "hot")]
    cache: Cache,
    /// Show everything that is known of each kernel, however wide the terminal is
    #[arg(long)]
    wide: bool,
    /// Write the records as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the records as CSV; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    #[command(flatten)]
    baseline: baseline::BaselineArgs,
}

/// Where it takes longer than this, in seconds, that is said before.
const SAID_FROM: f64 = 60.0;

/// How much longer than the limit is waited for what is running.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let named = Named {
        family: args.family,
        kernels: &args.kernel,
        exclude: &args.exclude,
    };
    named.rungs()?;
    let saved = args.baseline.read()?;
    let asked_device = asked_device(args)?;
    let [json, csv] = Destination::open_both([args.json.as_deref(), args.csv.as_deref()])?;
    let engine = open_engine(args.engine)?;
    if args.cache == Cache::Cold && engine.cache_bytes().is_none() {
        bail!("the emulator has no caches: leave out --cache cold");
    }
    let on_gpu = engine.kind() == EngineKind::Gpu;
    let shapes = args.shapes.each(if on_gpu { 4096 } else { 256 });
    let mut selection = cases::split(&named, &*engine, &shapes, args.shapes.is_given())?;
    let device = match (asked_device, on_gpu) {
        (Some(asked), _) => asked,
        (None, true) => None,
        (None, false) => Some(devices::find(select::WITHOUT_GPU)?.clone()),
    };
    let measured = match on_gpu {
        true => Some(select::device(None)?),
        false => None,
    };
    let sampling = sampling(args, engine.kind());
    announce(
        args,
        &mut selection,
        &Conditions {
            engine: &*engine,
            device: device.as_ref(),
            measured: measured.as_ref(),
            reps: sampling.reps,
            seed: args.shapes.seed,
        },
    )?;

    let mut human = human_output(json.iter().chain(&csv).any(Destination::is_stdout));
    let title = format!("{} on {}", engine.kind(), engine.device_name());
    let device_name = device.as_ref().map(|device| device.name.to_string());
    let mut shown = Shown::new(&selection, device_name.as_deref(), on_gpu, args.wide)?;
    writeln!(human, "{title}")?;
    shown.begin(&mut human)?;
    let start = Instant::now();
    let deadline = args.time_limit.map(|limit| start + limit);
    let work = Work {
        engine,
        cases: selection.run.clone(),
        device,
        measured,
        sampling,
        deadline,
        seed: args.shapes.seed,
    };
    let last = deadline.map(|deadline| deadline + GRACE);
    let ending = interrupt::attend(
        last,
        move |results| work.run(results),
        |progress| shown.show(&mut human, progress),
    );
    shown.progress.finish_and_clear();
    let finished = Finished {
        selection: &selection,
        ending: ending?,
        done: shown.done(),
    };
    finish(args, &mut human, saved, [json, csv], &finished)
}

/// The GPU that is to be predicted: `None` where none is given, and none within it where nothing is
/// to be.
fn asked_device(args: &Args) -> anyhow::Result<Option<Option<DeviceModel>>> {
    Ok(match args.device.as_deref() {
        None => None,
        Some("none") => Some(None),
        Some(name) => Some(Some(devices::find(name)?.clone())),
    })
}

/// Estimates how long the run takes, and says so before anything long; leaves out what does not fit
/// the limit.
fn announce(args: &Args, selection: &mut Selection, on: &Conditions<'_>) -> anyhow::Result<()> {
    cases::estimate(&mut selection.run, on)?;
    if let Some(limit) = args.time_limit {
        selection.within(limit)?;
    }
    let seconds = selection.seconds();
    let bounded = args
        .time_limit
        .is_some_and(|limit| limit.as_secs_f64() < SAID_FROM);
    if seconds > SAID_FROM && !bounded {
        writeln!(
            output::stderr(),
            "this takes about {}: --kernel and --shape choose less, --time-limit ends it, and \
             Ctrl-C keeps what is done",
            about(seconds)
        )?;
    }
    Ok(())
}

/// What came of a run.
struct Finished<'a> {
    selection: &'a Selection,
    ending: Ending,
    done: Done<'a>,
}

/// Writes the records, and what stands below the table.
fn finish(
    args: &Args,
    human: &mut dyn Write,
    saved: Option<baseline::Saved>,
    [json, csv]: [Option<Destination>; 2],
    finished: &Finished<'_>,
) -> anyhow::Result<Outcome> {
    let Done { cases, records, .. } = &finished.done;
    let complete =
        cases.len() == finished.selection.run.len() && finished.selection.over_limit.is_empty();
    if records.is_empty() && finished.ending == Ending::TimeUp {
        let limit = args.time_limit.unwrap_or_default().as_secs_f64();
        bail!("no kernel ended within --time-limit {limit}: give more time");
    }
    let compared = saved.map(|saved| saved.compare(records));
    let steps = finished.done.steps();
    if let Some(json) = json {
        let detailed: Vec<Detailed<'_, _>> = records
            .iter()
            .enumerate()
            .map(|(index, record)| {
                let compared = compared.as_ref();
                let compared = compared.and_then(|of| of.comparison(index));
                Detailed::new(record, compared, steps[index].as_ref())
            })
            .collect();
        json.write_records("run", complete, &detailed)?;
    }
    if let Some(csv) = csv {
        csv.write(&to_csv(records)?)?;
    }
    let mut outcome = print_below(human, finished, &steps)?;
    if let Some(compared) = compared {
        outcome = compared.print(human, records, outcome)?;
    }
    Ok(match finished.ending {
        Ending::Interrupted => Outcome::Interrupted,
        Ending::Complete | Ending::TimeUp => outcome,
    })
}

/// How kernels are timed.
fn sampling(args: &Args, engine: EngineKind) -> Sampling {
    const TIME_LIMIT_OF_PRECISION: Duration = Duration::from_secs(10);
    let default_reps = match engine {
        EngineKind::Gpu => 20,
        EngineKind::Cpu | EngineKind::Emulator if args.baseline.is_given() => 20,
        EngineKind::Cpu | EngineKind::Emulator => 1,
    };
    Sampling {
        reps: args.reps.map_or(default_reps, NonZeroUsize::get),
        precision_pct: args.precision,
        time_limit: args.precision.map(|_| TIME_LIMIT_OF_PRECISION),
        cache: args.cache,
    }
}

/// A number above 0.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0".to_owned()),
    }
}

/// A time.
fn seconds(text: &str) -> Result<Duration, String> {
    let too_long = |_| "give fewer seconds".to_owned();
    Duration::try_from_secs_f64(positive(text)?).map_err(too_long)
}

/// Opens an engine, and says so where there is no GPU to take.
pub(super) fn open_engine(choice: EngineChoice) -> anyhow::Result<Box<dyn Engine>> {
    let (engine, no_gpu) = engine::open(choice)?;
    if let Some(reason) = no_gpu {
        let reason = reason.to_string();
        writeln!(
            output::stderr(),
            "no GPU: {}, so the emulator runs this; `warpladder doctor` says what to do",
            units::first_cause(&reason)
        )?;
    }
    Ok(engine)
}

fn to_csv(records: &[Record]) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record)?;
    }
    Ok(writer.into_inner()?)
}

/// The table, while it grows.
struct Shown<'a> {
    selection: &'a Selection,
    table: RunTable,
    progress: ProgressBar,
    device: Option<&'a str>,
    /// The group of the last row.
    group: Option<usize>,
    records: Vec<Option<Record>>,
    refused: Vec<(usize, String)>,
    tallies: Vec<Option<Tally>>,
}

/// What is done.
struct Done<'a> {
    cases: Vec<&'a RunCase>,
    records: Vec<Record>,
    tallies: Vec<Option<Tally>>,
    refused: Vec<(&'a RunCase, String)>,
}

impl<'a> Shown<'a> {
    fn new(
        selection: &'a Selection,
        device: Option<&'a str>,
        on_gpu: bool,
        wide: bool,
    ) -> anyhow::Result<Self> {
        let style = ProgressStyle::with_template("{bar:30} {msg}, {elapsed}, about {eta} left")?;
        // Draws on standard error, and only where that is a terminal.
        let progress = ProgressBar::new(millis(selection.seconds())).with_style(style);
        let cases = selection.run.len();
        Ok(Shown {
            selection,
            table: RunTable::new(selection, device, on_gpu, wide),
            progress,
            device,
            group: None,
            records: vec![None; cases],
            refused: Vec::new(),
            tallies: vec![None; cases],
        })
    }

    /// Prints what stands above the rows.
    fn begin(&mut self, to: &mut dyn Write) -> anyhow::Result<()> {
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
    fn show(&mut self, to: &mut dyn Write, progress: Progress) -> anyhow::Result<()> {
        let cases = &self.selection.run;
        match progress {
            Progress::Begun(index) => {
                let name = cases[index].rung().name;
                let message = format!("{} of {}: {name}", index + 1, cases.len());
                self.progress.set_message(message);
                self.progress.tick();
            }
            Progress::Counted(index, tally) => self.tallies[index] = Some(tally),
            Progress::Done(index, record, refused) => {
                self.refused.extend(refused.map(|why| (index, why)));
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

    fn step(&self, index: usize) -> Option<Step> {
        step(&self.selection.run, &self.records, index).map(|(step, _)| step)
    }

    fn done(self) -> Done<'a> {
        let cases = &self.selection.run;
        let mut done = Done {
            cases: Vec::new(),
            records: Vec::new(),
            tallies: Vec::new(),
            refused: Vec::new(),
        };
        for (index, why) in self.refused {
            done.refused.push((&cases[index], why));
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

/// Milliseconds, at least one.
fn millis(seconds: f64) -> u64 {
    1 + (seconds * 1e3) as u64
}

/// The step of a case over the last one before it that computes the same at the same size, and
/// which one that is.
fn step<C: std::borrow::Borrow<RunCase>>(
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
    fn steps(&self) -> Vec<Option<Step>> {
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

/// Prints what stands below the table.
fn print_below(
    to: &mut dyn Write,
    finished: &Finished<'_>,
    steps: &[Option<Step>],
) -> anyhow::Result<Outcome> {
    let Done {
        cases,
        records,
        refused,
        ..
    } = &finished.done;
    print_legend(to, records)?;
    if let Some(conditions) = conditions::conditions(records) {
        writeln!(to, "{}", table::wrapped(&conditions, 2))?;
    }
    print_steps(to, records, steps)?;
    rows::print_left_out(to, finished.selection)?;
    for (case, why) in refused {
        let line = format!("{} is not predicted: {why}", case.rung().name);
        writeln!(to, "{}", table::wrapped(&line, 2))?;
    }
    let failed: Vec<&Record> = records.iter().filter(|record| !record.ok).collect();
    for record in &failed {
        let complaint = record.complaint.as_deref().unwrap_or("the output is wrong");
        writeln!(to, "{}: {complaint}", record.kernel)?;
    }
    let all = finished.selection.run.len();
    if cases.len() < all {
        print_missing(to, finished)?;
    }
    if failed.is_empty() {
        writeln!(to, "{}", units::all_passed(records.len()))?;
        Ok(Outcome::Done)
    } else {
        let checks = units::count(records.len(), "check");
        writeln!(to, "{} of {checks} failed", failed.len())?;
        Ok(Outcome::ChecksFailed)
    }
}

/// What the columns are.
fn print_legend(to: &mut dyn Write, records: &[Record]) -> anyhow::Result<()> {
    let has = |of: fn(&Record) -> bool| records.iter().any(of);
    let mut parts = Vec::new();
    if has(|record| record.ranked_ms().is_some()) {
        parts.push("x: times as fast as the rung before it that computes the same");
    }
    if has(|record| record.roof_pct.or(record.predicted_roof_pct).is_some()) {
        parts.push("roof %: share of what the GPU's peaks allow for the problem");
    }
    if has(|record| record.engine != EngineKind::Gpu) {
        parts.push("CPU ms: what this machine's CPU took, which says nothing of a GPU");
    }
    for part in parts {
        writeln!(to, "{}", table::wrapped(part, 2))?;
    }
    Ok(())
}

/// A sentence for each step that the counters explain.
fn print_steps(
    to: &mut dyn Write,
    records: &[Record],
    steps: &[Option<Step>],
) -> anyhow::Result<()> {
    let mut lines = records.iter().zip(steps).filter_map(|(record, step)| {
        let Step { over, times, why } = step.as_ref()?;
        let (kernel, why) = (&record.kernel, why.as_ref()?);
        Some(format!("  {kernel} {times:.2}x over {over}: {why}"))
    });
    if let Some(first) = lines.next() {
        writeln!(to, "\nsteps that the counters explain:")?;
        for line in std::iter::once(first).chain(lines) {
            writeln!(to, "{}", table::wrapped(&line, 4))?;
        }
        writeln!(to)?;
    }
    Ok(())
}

/// Which kernels did not get their turn, and why.
fn print_missing(to: &mut dyn Write, finished: &Finished<'_>) -> anyhow::Result<()> {
    let Done { cases, .. } = &finished.done;
    let is_done = |case: &&RunCase| cases.iter().any(|done| std::ptr::eq(*done, *case));
    let missing = finished.selection.run.iter().filter(|case| !is_done(case));
    let names: Vec<&str> = missing.map(|case| case.rung().name).collect();
    let why = match finished.ending {
        Ending::TimeUp => "the time is up",
        Ending::Interrupted | Ending::Complete => "interrupted",
    };
    let (done, all) = (cases.len(), finished.selection.run.len());
    let line = format!("{why}: {done} of {all} done; missing: {}", names.join(", "));
    writeln!(to, "{}", table::wrapped(&line, 2))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::engine::emulator::EmulatorEngine;
    use warpladder_lab::catalogue;
    use warpladder_lab::problem::Shape;
    use warpladder_lab::run::{Problems, preflight};

    const SHAPE: Shape = Shape { m: 3, n: 4, k: 5 };

    fn selection(names: &[&str]) -> Selection {
        let engine = EmulatorEngine::new();
        let run = names.iter().map(|name| RunCase {
            admitted: preflight(&engine, catalogue::find(name).unwrap(), SHAPE).unwrap(),
            predicted: SHAPE,
            group: 0,
            heading: None,
            seconds: 0.0,
        });
        Selection {
            run: run.collect(),
            ..Selection::default()
        }
    }

    fn records(selection: &Selection) -> Vec<Record> {
        let engine = EmulatorEngine::new();
        let mut problems = Problems::new(1);
        let cases = selection.run.iter();
        cases
            .map(|case| problems.run(&engine, &case.admitted, 1).unwrap())
            .collect()
    }

    fn printed(selection: &Selection, records: &[Record], ending: Ending) -> (Outcome, String) {
        let finished = Finished {
            selection,
            ending,
            done: Done {
                cases: selection.run.iter().take(records.len()).collect(),
                records: records.to_vec(),
                tallies: vec![None; records.len()],
                refused: Vec::new(),
            },
        };
        let steps = finished.done.steps();
        let mut text = Vec::new();
        let outcome = print_below(&mut text, &finished, &steps).unwrap();
        (outcome, String::from_utf8(text).unwrap())
    }

    #[test]
    fn one_wrong_record_makes_the_run_fail_and_is_named() {
        let selection = selection(&["naive", "tiled_guarded_16"]);
        let mut records = records(&selection);
        let (outcome, text) = printed(&selection, &records, Ending::Complete);
        assert!(matches!(outcome, Outcome::Done), "{text}");
        assert!(text.ends_with("\nall 2 checks passed\n"), "{text}");

        records[1].ok = false;
        records[1].complaint = Some("element (0, 1) is NaN, not 3".to_owned());
        let (outcome, text) = printed(&selection, &records, Ending::Complete);
        assert!(matches!(outcome, Outcome::ChecksFailed), "{text}");
        let end = "\ntiled_guarded_16: element (0, 1) is NaN, not 3\n1 of 2 checks failed\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn what_did_not_get_its_turn_is_named() {
        let selection = selection(&["naive", "tiled_guarded_16", "tiled_guarded_32"]);
        let records = &records(&selection)[..1];
        let (_, text) = printed(&selection, records, Ending::Interrupted);
        let missing = "1 of 3 done; missing: tiled_guarded_16, tiled_guarded_32\n1 check passed\n";
        assert!(text.ends_with(&format!("interrupted: {missing}")), "{text}");
        let (_, text) = printed(&selection, records, Ending::TimeUp);
        assert!(
            text.ends_with(&format!("the time is up: {missing}")),
            "{text}"
        );
    }

    #[test]
    fn steps_are_over_the_rung_before_and_by_predicted_times() {
        let selection = selection(&["naive", "naive_f64", "tiled_guarded_16"]);
        let mut records = records(&selection);
        for (record, ms) in records.iter_mut().zip([8.0, 16.0, 2.0]) {
            record.predicted_ms = Some(ms);
        }
        let records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
        let of = |index| step(&selection.run, &records, index).map(|(step, _)| step);
        assert_eq!((of(0), of(1)), (None, None));
        let over_naive = of(2).unwrap();
        assert_eq!((over_naive.over.as_str(), over_naive.times), ("naive", 4.0));
    }
}

//! `warpladder reproduce`.

use super::choices::{ENGINES, SOURCES, one_of};
use super::interrupt::{self, Ending, Results};
use super::output::{Destination, human_output};
use super::run::open_engine;
use super::shape::{OfSources, Shapes};
use super::table::{self, Column, Rows};
use super::{progress, select, units};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use anyhow::anyhow;
use std::io::Write;
use std::num::NonZeroUsize;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Engine, EngineChoice, EngineKind};
use warpladder_lab::problem::Shape;
use warpladder_lab::reproduce::{self, Bench, Group, Row, Source};
use warpladder_lab::run::RunError;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder reproduce --source 003 --engine emulator
  warpladder reproduce --source 000 --json figures.json")]
pub(super) struct Args {
    /// Only this source [default: all]
    #[arg(long, value_parser = one_of(SOURCES))]
    source: Option<Source>,
    /// Where to run: auto takes the GPU where there is one. A GPU is timed; on the emulator
    /// transactions, wavefronts and instructions are counted
    #[arg(long, value_parser = one_of(ENGINES), default_value = "auto")]
    engine: EngineChoice,
    #[command(flatten)]
    shapes: Shapes<OfSources>,
    /// Timed runs of each kernel [default: 20 on a GPU, 3 on the CPU]; 3 gives the middle of three,
    /// as source 004 does
    #[arg(long, value_name = "R")]
    reps: Option<NonZeroUsize>,
    /// Write the rows as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Sizes that every rung of every table takes are multiples of this.
const SUITS_ALL: u32 = 256;

/// Timed runs unasked: products on the host take at most 3 of them.
const DEFAULT_REPS: usize = 20;

/// Runs that take as long as one that is checked and counted.
const COUNTED_RUNS: usize = 2;

/// A table of a source.
type Table = (Source, &'static Group);

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let engine = open_engine(args.engine)?;
    let sizes: Vec<Option<Shape>> = match args.shapes.is_given() {
        true => {
            let shapes = args.shapes.each(SUITS_ALL)?.into_iter();
            shapes.map(|asked| Some(asked.any())).collect()
        }
        false => vec![None],
    };
    let tables: Vec<Table> = Source::ALL
        .into_iter()
        .filter(|&source| args.source.is_none_or(|only| only == source))
        .flat_map(|source| source.groups().iter().map(move |group| (source, group)))
        .collect();
    let work = Work {
        engine,
        sizes,
        tables,
        seed: args.shapes.seed,
        reps: args.reps.map_or(DEFAULT_REPS, NonZeroUsize::get),
    };
    let seconds = work.preflight()?;
    estimate::announce(
        seconds,
        "one --source or a smaller --shape takes less, and Ctrl-C keeps what is done",
    )?;
    let all = work.sizes.len() * work.tables.len();
    let progress = progress::of_pieces(all)?;
    let to = &mut *human_output(json.iter().any(Destination::is_stdout));
    let mut results: Vec<Vec<Row>> = Vec::new();
    let ending = interrupt::attend(
        None,
        move |results| work.run(results),
        |progressed| {
            match progressed {
                Progress::Begun(title) => progress.set_message(title),
                Progress::Done { text, rows } => {
                    progress.inc(1);
                    progress.suspend(|| to.write_all(text.as_bytes()))?;
                    results.push(rows);
                }
            }
            Ok(())
        },
    );
    progress.finish_and_clear();
    let ending = ending?;
    if let Some(json) = json {
        let rows: Vec<&Row> = results.iter().flatten().collect();
        json.write_records("reproduce", results.len() == all, &rows)?;
    }
    if ending == Ending::Complete {
        return conclude(to, &results);
    }
    if !results.is_empty() {
        conclude(to, &results)?;
    }
    let tables = units::count(all, "table");
    writeln!(to, "interrupted: {} of {tables} done", results.len())?;
    Ok(Outcome::Interrupted)
}

/// The tables, and how they are measured.
struct Work {
    engine: Box<dyn Engine>,
    sizes: Vec<Option<Shape>>,
    tables: Vec<Table>,
    seed: u64,
    reps: usize,
}

/// What the work hands over.
enum Progress {
    /// A table begins.
    Begun(&'static str),
    /// A table is done: as text, and its rows.
    Done { text: String, rows: Vec<Row> },
}

impl Work {
    fn bench<'e>(&'e self, emulator: &'e EmulatorEngine, size: Option<Shape>) -> Bench<'e> {
        match self.engine.kind() {
            EngineKind::Gpu => Bench::timed(&*self.engine, size, self.seed, self.reps),
            EngineKind::Cpu | EngineKind::Emulator => {
                Bench::counted(emulator, size, self.seed, self.reps)
            }
        }
    }

    /// Refuses tables that cannot run here, before any does. Returns how long they take, in
    /// seconds, as far as that is known before.
    fn preflight(&self) -> anyhow::Result<f64> {
        let emulator = EmulatorEngine::new();
        let device = select::device(None)?;
        let speed = EmulatorSpeed::measure(&emulator, self.seed)?;
        let mut seconds = 0.0;
        for &size in &self.sizes {
            let mut bench = self.bench(&emulator, size);
            for (_, group) in &self.tables {
                bench.preflight(group).map_err(refused)?;
            }
            for admitted in bench.admitted() {
                let (rung, shape) = (admitted.rung(), admitted.shape());
                let is_timed_on_gpu =
                    self.engine.kind() == EngineKind::Gpu && !admitted.is_on_host();
                seconds += match is_timed_on_gpu {
                    true => self.reps as f64 * estimate::on_gpu(&device, rung, shape),
                    // Counting takes as long as another run.
                    false => speed.runs(rung, shape, COUNTED_RUNS)?,
                };
            }
        }
        Ok(seconds)
    }

    fn run(self, results: &Results<Progress>) -> anyhow::Result<()> {
        let emulator = EmulatorEngine::new();
        for &size in &self.sizes {
            let mut bench = self.bench(&emulator, size);
            for &(source, group) in &self.tables {
                if results.hand(Progress::Begun(group.title)).is_break() {
                    return Ok(());
                }
                let rows = reproduce::reproduce(&mut bench, source, group)?;
                let mut text = Vec::new();
                print(&mut text, &bench, source, group, &rows)?;
                let text = String::from_utf8(text)?;
                if results.hand(Progress::Done { text, rows }).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The error of a table that cannot run here.
fn refused(error: RunError) -> anyhow::Error {
    match error {
        RunError::Shape { .. } => anyhow!("{error}; a multiple of {SUITS_ALL} suits every table"),
        other => other.into(),
    }
}

/// One table: what was there, what is here, and a sentence about each step.
fn print(
    to: &mut dyn Write,
    bench: &Bench<'_>,
    source: Source,
    group: &Group,
    rows: &[Row],
) -> anyhow::Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    writeln!(to, "source {}", source.title())?;
    writeln!(to, "{}", group.title)?;
    let there = format!("there: {}; {}", group.hardware, group.problem);
    writeln!(to, "{}", table::wrapped(&there, 7))?;
    let size = first
        .k
        .iter()
        .fold(format!("{} x {}", first.m, first.n), |size, k| {
            format!("{size} x {k}")
        });
    let how = if bench.counts(group) {
        format!("counts per {}", group.useful)
    } else {
        "medians".to_owned()
    };
    let here = format!("here:  {} on {}; {size}; {how}", first.engine, first.device);
    writeln!(to, "{}", table::wrapped(&here, 7))?;

    let mut header: Vec<String> = ["rung", "check", "there", "kind", "step there"]
        .map(str::to_owned)
        .to_vec();
    for here in &first.here {
        header.push(if bench.counts(group) {
            here.measure.clone()
        } else {
            format!("{} {}", here.measure, here.unit)
        });
        header.push("step".to_owned());
    }
    let cells: Vec<Vec<String>> = rows.iter().flat_map(lines).collect();
    let table = Rows::new(columns(&header, &cells));
    writeln!(to, "{}", table.header())?;
    let mut cells = cells.iter();
    for row in rows {
        for line in cells.by_ref().take(row.there.len().max(1)) {
            writeln!(to, "{}", table.line(line, Some(CHECK)))?;
        }
        let mut below = Vec::new();
        if let Some(over) = &row.over {
            below.push(format!("     from {over}: {}", row.why));
        }
        if !row.ok {
            let complaint = row.complaint.as_deref().unwrap_or("the output is wrong");
            below.push(format!("     {complaint}"));
        }
        for line in below {
            writeln!(to, "{}", table::wrapped(&line, 7))?;
        }
    }
    for note in reproduce::notes(bench, group, rows) {
        writeln!(to, "{}", table::wrapped(&format!("note: {note}"), 6))?;
    }
    writeln!(to)?;
    Ok(())
}

/// The column of the check's verdict.
const CHECK: usize = 1;

/// The columns of a table, as wide as their cells. A narrow terminal does without the kinds of the
/// source's figures, then without the values of ours but for the first, then without the source's.
fn columns(header: &[String], cells: &[Vec<String>]) -> Vec<Column> {
    // Lines of further figures of the source have none of ours.
    let of = |index: usize| cells.iter().filter_map(move |row| row.get(index));
    let width = |index: usize| of(index).map(|cell| cell.chars().count());
    let column = |(index, title): (usize, &String)| {
        let width = width(index).max().unwrap_or_default();
        match index {
            0 | CHECK => Column::text(title, width, 0),
            2 => Column::text(title, width, 1),
            3 => Column::text(title, width, header.len()),
            4 => Column::number(title, width, 2),
            5 | 6 => Column::number(title, width, 0),
            _ => Column::number(title, width, index),
        }
    };
    header.iter().enumerate().map(column).collect()
}

/// The lines of a row: one for each figure of the source, ours beside the first.
fn lines(row: &Row) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = row
        .there
        .iter()
        .map(|there| {
            let kind = match &there.hardware {
                Some(hardware) => format!("{} ({hardware})", there.kind),
                None => there.kind.clone(),
            };
            vec![
                String::new(),
                String::new(),
                there.words.clone(),
                kind,
                times(there.step),
            ]
        })
        .collect();
    if lines.is_empty() {
        let dash = || "-".to_owned();
        lines.push(vec![String::new(), String::new(), dash(), dash(), dash()]);
    }
    lines[0][0].clone_from(&row.rung);
    lines[0][CHECK] = if row.ok { "ok" } else { "FAIL" }.to_owned();
    for here in &row.here {
        lines[0].push(table::figure(here.value));
        lines[0].push(times(here.step));
    }
    lines
}

/// A step.
fn times(step: Option<f64>) -> String {
    match step {
        Some(step) if step < 0.1 => format!("{step:.3}x"),
        Some(step) => format!("{step:.2}x"),
        None => "-".to_owned(),
    }
}

fn conclude(to: &mut dyn Write, results: &[Vec<Row>]) -> anyhow::Result<Outcome> {
    let rows = || results.iter().flatten();
    let legend = "A step is how many times better a rung is than the one that it is a step from; \
                  of counts, how many times fewer.";
    writeln!(to, "{}", table::wrapped(legend, 0))?;
    let failed = rows().filter(|row| !row.ok).count();
    if failed == 0 {
        writeln!(to, "{}", units::all_passed(rows().count()))?;
        Ok(Outcome::Done)
    } else {
        writeln!(to, "{failed} of {} checks failed", rows().count())?;
        Ok(Outcome::ChecksFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;

    fn square(size: u32) -> Shape {
        Shape {
            m: size,
            n: size,
            k: size,
        }
    }

    #[test]
    fn one_wrong_row_makes_the_command_fail_and_is_explained() {
        let emulator = EmulatorEngine::new();
        let mut bench = Bench::counted(&emulator, Some(square(32)), 1, 1);
        let group = &Source::Patc.groups()[0];
        let mut rows = reproduce::reproduce(&mut bench, Source::Patc, group).unwrap();
        let outcome = conclude(&mut Vec::new(), std::slice::from_ref(&rows)).unwrap();
        assert!(matches!(outcome, Outcome::Done));

        rows[1].ok = false;
        rows[1].complaint = Some("element (0, 1) is NaN, not 3".to_owned());
        let mut text = Vec::new();
        print(&mut text, &bench, Source::Patc, group, &rows).unwrap();
        let outcome = conclude(&mut text, &[rows]).unwrap();
        assert!(matches!(outcome, Outcome::ChecksFailed));
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("FAIL") && text.contains("element (0, 1) is NaN, not 3"),
            "{text}"
        );
        assert!(text.ends_with("1 of 5 checks failed\n"), "{text}");
    }

    #[test]
    fn the_size_that_errors_advise_suits_every_rung() {
        let emulator = EmulatorEngine::new();
        let bench = Bench::counted(&emulator, Some(square(SUITS_ALL)), 1, 1);
        for group in Source::ALL.into_iter().flat_map(Source::groups) {
            for entry in group.entries {
                let rung = catalogue::find(entry.rung).unwrap();
                let shape = bench.shape(group);
                assert!(
                    rung.precondition.takes(rung.operation, shape),
                    "{}",
                    rung.name
                );
            }
        }
    }
}

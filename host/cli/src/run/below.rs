//! What stands below the table of a run.

use super::cases::{RunCase, Selection};
use super::rows;
use super::shown::Done;
use super::worker::Caveat;
use crate::interrupt::Ending;
use crate::outcome::Outcome;
use crate::{conditions, table, units};
use std::io::Write;
use warpladder::engine::EngineKind;
use warpladder_lab::run::{Record, Step};

/// What came of a run.
pub(super) struct Finished<'a> {
    pub selection: &'a Selection,
    pub ending: Ending,
    pub done: Done<'a>,
}

/// Prints what stands below the table.
pub(super) fn print_below(
    to: &mut dyn Write,
    finished: &Finished<'_>,
    steps: &[Option<Step>],
) -> anyhow::Result<Outcome> {
    let Done {
        cases,
        records,
        caveats,
        ..
    } = &finished.done;
    print_legend(to, records)?;
    if let Some(conditions) = conditions::conditions(records) {
        writeln!(to, "{}", table::wrapped(&conditions, 2))?;
    }
    print_steps(to, records, steps)?;
    rows::print_left_out(to, finished.selection)?;
    print_caveats(to, caveats)?;
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
        // Of no check there is nothing to say.
        if !records.is_empty() {
            writeln!(to, "{}", units::all_passed(records.len()))?;
        }
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

/// What is to be said of predictions: of kernels for which it is the same in one line.
fn print_caveats(to: &mut dyn Write, caveats: &[(&RunCase, Caveat)]) -> anyhow::Result<()> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for (case, caveat) in caveats {
        let name = case.rung().name;
        let said = match caveat {
            Caveat::Refused(why) => {
                // Reasons begin with the kernel.
                let why = why.strip_prefix(name).map_or(why.as_str(), str::trim_start);
                format!("not predicted ({why})")
            }
            Caveat::Least(unknown) => {
                let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
                let unknown = unknown.join(", ");
                format!("at least the time above (without {unknown}, whose rate is not known)")
            }
            Caveat::Short => "without what a launch costs there, which is not known: \
                              microseconds, a large share of the time"
                .to_owned(),
        };
        match lines.iter_mut().find(|(other, _)| *other == said) {
            Some((_, names)) => names.push(name),
            None => lines.push((said, vec![name])),
        }
    }
    for (said, names) in lines {
        let line = format!("{said}: {}", names.join(", "));
        writeln!(to, "{}", table::wrapped(&line, 2))?;
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
    use super::super::shown::step;
    use super::*;
    use warpladder::engine::emulator::EmulatorEngine;
    use warpladder_lab::catalogue;
    use warpladder_lab::problem::Shape;
    use warpladder_lab::run::{Problems, preflight};
    use warpladder_models::Bound;

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
                caveats: Vec::new(),
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
    fn kernels_of_which_the_same_is_said_are_one_line() {
        let selection = selection(&["naive", "tiled_guarded_16", "tiled_guarded_32"]);
        let caveats = [
            Caveat::Refused("naive has no work".to_owned()),
            Caveat::Refused("tiled_guarded_16 has no work".to_owned()),
            Caveat::Least(vec![Bound::L2]),
        ];
        let caveats: Vec<_> = selection.run.iter().zip(caveats).collect();
        let mut text = Vec::new();
        print_caveats(&mut text, &caveats).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            format!(
                "not predicted (has no work): naive, tiled_guarded_16\n\
                 at least the time above (without {}, whose rate is not known): \
                 tiled_guarded_32\n",
                Bound::L2
            )
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

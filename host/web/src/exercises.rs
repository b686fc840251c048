//! The exercises: their texts, and checks of what the page has the PTX of.

use crate::error::RequestError;
use crate::report::{self, Counted, Found, Warp};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Counters, Module, Sanitizer};
use ptx_pictures::AccessTrace;
use serde::{Deserialize, Serialize};
use warpladder_learn::{ALL, Exercise, Version, observe};

/// An exercise.
#[derive(Debug, Serialize)]
pub(crate) struct ExerciseEntry {
    name: &'static str,
    part: String,
    teaches: &'static str,
    /// The page of the book, without its ending.
    chapter: &'static str,
    hints: Vec<&'static str>,
    versions: [VersionEntry; 2],
}

/// A version of an exercise that the page has the PTX of.
#[derive(Debug, Serialize)]
struct VersionEntry {
    /// What it is, for a reader.
    title: &'static str,
    /// The kernel's name in the PTX; its source lines are of the file of this name.
    entry: String,
    source: String,
}

/// A version to check.
#[derive(Debug, Deserialize)]
pub(crate) struct Check {
    exercise: String,
    /// The module with the kernel.
    ptx: String,
    entry: String,
    #[serde(default)]
    watched: Warp,
}

/// What a check came to.
#[derive(Debug, Serialize)]
pub(crate) struct CheckOutcome {
    passed: bool,
    /// What is wrong, in a few lines; empty where it passed.
    complaint: String,
    fault: Option<String>,
    /// Of the first launch of the exercise's.
    findings: Vec<Found>,
    counted: Counted,
    grid: [u32; 3],
    block: [u32; 3],
}

/// All exercises, in their order.
pub(crate) fn all() -> Vec<ExerciseEntry> {
    let entry = |version: Version, title| VersionEntry {
        title,
        entry: version.kernel,
        source: version.text,
    };
    let exercise = |exercise: &'static Exercise| ExerciseEntry {
        name: exercise.name,
        part: exercise.part.to_string(),
        teaches: exercise.teaches,
        chapter: exercise.chapter,
        hints: exercise.files.hints().collect(),
        versions: [
            entry(Version::unsolved(exercise), "as it is given"),
            entry(Version::solution(exercise), "solved"),
        ],
    };
    ALL.iter().map(exercise).collect()
}

/// Checks a version, and observes its first launch.
pub(crate) fn check(request: &Check) -> Result<CheckOutcome, RequestError> {
    let name = &request.exercise;
    let exercise =
        warpladder_learn::find(name).ok_or_else(|| RequestError::NoExercise(name.clone()))?;
    let module = Module::parse(&request.ptx)?;
    let verdict = warpladder_learn::check(exercise, &module, &request.entry)?;
    let kernel = module.kernel(&request.entry)?;
    let [first, ..] = exercise.problem.cases else {
        return Err(RequestError::NoExercise(name.clone()));
    };
    let mut counted = (Counters::new(), AccessTrace::new(request.watched.into()));
    let fault = observe(&kernel, first, &mut counted)?;
    let mut sanitizer = Sanitizer::new(&Tool::ALL);
    observe(&kernel, first, &mut sanitizer)?;
    let (counters, trace) = counted;
    let own = format!("{}.rs", request.entry);
    // The page shows the lines itself.
    let complaint = verdict.complaint(&|_| None);
    Ok(CheckOutcome {
        passed: verdict.passed(),
        complaint,
        fault: fault.map(|fault| fault.to_string()),
        findings: report::found(&sanitizer.findings()),
        counted: report::counted(&counters, &trace, Some(&own)),
        grid: first.grid,
        block: first.block,
    })
}

//! `warpladder learn export`: what was passed in folders of exercises, for grading.

use super::attempt::{Judged, judge};
use crate::{Outcome, output};
use anyhow::bail;
use std::io::Write;
use std::path::PathBuf;
use warpladder_learn::{ALL, Exercise, Folder, Progress};

#[derive(clap::Args)]
#[command(after_help = "\
Records are JSON in the envelope of all commands (docs/results.md): one for each exercise of each
folder. Without --check they hold what `warpladder learn` noted when the exercise was checked last.

Examples:
  warpladder learn export warpladder-exercises
  warpladder learn export --check class/* > passed.json")]
pub(super) struct Export {
    /// Folders of exercises, as `warpladder learn start` makes them
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Compile and check each file again, whatever the folder says
    #[arg(long)]
    check: bool,
}

/// One exercise in one folder.
#[derive(serde::Serialize)]
struct Record {
    folder: String,
    exercise: &'static str,
    /// Its place in the order of all exercises, from 1.
    number: usize,
    part: String,
    passed: bool,
    /// Hints that were shown.
    hints: usize,
    /// Whether the file was checked now; else `passed` is what the folder says.
    checked: bool,
    /// What is wrong with a file that was checked and did not pass.
    complaint: Option<String>,
}

pub(super) fn export(args: &Export) -> anyhow::Result<Outcome> {
    let folders: Vec<Folder> = args.folders.iter().map(Folder::new).collect();
    // A name that is misspelt is said before a class is checked for an hour.
    if let Some(other) = folders.iter().find(|folder| !folder.is_started()) {
        bail!(
            "{} holds no exercises: name the folders that `warpladder learn start` made",
            other.path().display()
        );
    }
    let mut records = Vec::new();
    for folder in &folders {
        let progress = folder.progress()?;
        for exercise in ALL {
            let checked = args.check.then(|| check(folder, exercise)).transpose()?;
            records.push(record(folder, &progress, exercise, checked));
        }
    }
    output::stdout().write_all(&output::json("learn", true, None, &records)?)?;
    Ok(Outcome::Done)
}

fn record(
    folder: &Folder,
    progress: &Progress,
    exercise: &'static Exercise,
    checked: Option<Option<String>>,
) -> Record {
    Record {
        folder: folder.path().display().to_string(),
        exercise: exercise.name,
        number: warpladder_learn::number(exercise),
        part: exercise.part.to_string(),
        passed: match &checked {
            Some(complaint) => complaint.is_none(),
            None => progress.passed.contains(exercise.name),
        },
        hints: progress.hints.get(exercise.name).copied().unwrap_or(0),
        checked: checked.is_some(),
        complaint: checked.flatten(),
    }
}

/// What is wrong with the file of an exercise; none where it passes.
fn check(folder: &Folder, exercise: &'static Exercise) -> anyhow::Result<Option<String>> {
    let file = folder.file(exercise);
    if !file.is_file() {
        return Ok(Some(format!("there is no {}", file.display())));
    }
    Ok(match judge(folder, exercise)? {
        Judged::Checked(verdict) if verdict.passed() => None,
        Judged::Checked(verdict) => Some(verdict.complaint(&|place| folder.line(place))),
        Judged::Unusable(complaint) => Some(complaint),
    })
}

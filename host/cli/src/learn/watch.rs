//! `warpladder learn --watch`: a check whenever the file is saved.

use super::attempt::attempt;
use super::first_open;
use crate::{Outcome, output};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};
use warpladder_learn::{Exercise, Folder};

/// How often the file's time is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// Checks an exercise, again whenever its file is saved, and goes on to the next open one when it
/// passes; from the first open one where none is named. Ends when all are passed.
pub(super) fn watch(folder: &Folder, first: Option<&'static Exercise>) -> anyhow::Result<Outcome> {
    let mut next = match first {
        Some(first) => Some(first),
        None => first_open(&folder.progress()?),
    };
    while let Some(exercise) = next {
        let file = folder.file(exercise);
        loop {
            // Read before the check: what is saved meanwhile is checked after it.
            let before = state(&file);
            if let Outcome::Done = attempt(folder, exercise)? {
                break;
            }
            writeln!(
                output::stdout(),
                "\nwaiting for {} to be saved; Ctrl-C ends",
                file.display()
            )?;
            wait(&file, before);
        }
        next = first_open(&folder.progress()?);
    }
    Ok(Outcome::Done)
}

/// When a file was written, and its length.
type State = (SystemTime, u64);

/// Returns when a file is there in another state than before. Between the steps of some editors it
/// is not there.
fn wait(file: &Path, before: Option<State>) {
    loop {
        let now = state(file);
        if now.is_some() && now != before {
            return;
        }
        sleep(INTERVAL);
    }
}

fn state(file: &Path) -> Option<State> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

//! `warpladder learn --watch`: a check whenever the file is saved, and keys.

use super::attempt::attempt;
use super::{first_open, hint, list};
use crate::{Outcome, output};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::{Duration, SystemTime};
use warpladder_learn::{ALL, Exercise, Folder};

/// How often the file's time is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// What ended a wait.
enum Woken {
    Saved,
    Key(String),
}

/// Checks an exercise, again whenever its file is saved, and goes on to the next open one when it
/// passes; from the first open one where none is named. Ends when all are passed, and by a key.
pub(super) fn watch(folder: &Folder, first: Option<&'static Exercise>) -> anyhow::Result<Outcome> {
    let mut next = match first {
        Some(first) => Some(first),
        None => first_open(&folder.progress()?),
    };
    let keys = keys();
    while let Some(exercise) = next {
        next = match until_left(folder, exercise, &keys)? {
            Left::Passed => first_open(&folder.progress()?),
            Left::Skipped => Some(after(exercise)),
            Left::Ended => None,
        };
    }
    Ok(Outcome::Done)
}

/// How an exercise was left.
enum Left {
    Passed,
    Skipped,
    Ended,
}

/// Checks one exercise until it passes or a key leaves it.
fn until_left(
    folder: &Folder,
    exercise: &'static Exercise,
    keys: &Receiver<String>,
) -> anyhow::Result<Left> {
    let file = folder.file(exercise);
    loop {
        // Read before the check: what is saved meanwhile is checked after it.
        let before = state(&file);
        if let Outcome::Done = attempt(folder, exercise)? {
            return Ok(Left::Passed);
        }
        loop {
            writeln!(
                output::stdout(),
                "\nwaiting for {} to be saved; h hint, s solution, n next, l list, q quit, with \
                 Enter",
                file.display()
            )?;
            let key = match wait(&file, before, keys) {
                Woken::Saved => break,
                Woken::Key(key) => key,
            };
            match key.trim() {
                "h" => _ = hint(folder, exercise, None)?,
                "s" => write!(output::stdout(), "{}", exercise.files.solution)?,
                "n" => return Ok(Left::Skipped),
                "l" => _ = list(folder)?,
                "q" => return Ok(Left::Ended),
                "" => {}
                other => writeln!(output::stdout(), "{other:?} is none of h, s, n, l, q")?,
            }
        }
    }
}

/// The exercise behind this one; behind the last one, the first.
fn after(exercise: &Exercise) -> &'static Exercise {
    &ALL[warpladder_learn::number(exercise) % ALL.len()]
}

/// The lines of standard input, as they come.
fn keys() -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// When a file was written, and its length.
type State = (SystemTime, u64);

/// Returns when a file is there in another state than before, or a key comes. Between the steps of
/// some editors it is not there.
fn wait(file: &Path, before: Option<State>, keys: &Receiver<String>) -> Woken {
    loop {
        let now = state(file);
        if now.is_some() && now != before {
            return Woken::Saved;
        }
        match keys.recv_timeout(INTERVAL) {
            Ok(key) => return Woken::Key(key),
            Err(RecvTimeoutError::Timeout) => {}
            // Standard input has ended: no keys come, files may.
            Err(RecvTimeoutError::Disconnected) => sleep(INTERVAL),
        }
    }
}

fn state(file: &Path) -> Option<State> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

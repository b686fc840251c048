//! Exercises: kernels with a hole, checked on the emulator.
//!
//! The [table](ALL) holds all of them. An exercise is a folder in `exercises/` (what the learner
//! gets, the solution, the hints) and an entry of the table: its inputs, the right answer, its
//! launches, and how much more than the reference it may ask of the machine. A learner's file is
//! compiled by [`Folder::compile`], run by [`check()`] under the sanitizers and the counters, and
//! judged: see [`Verdict`].

mod check;
mod exercise;
mod figures;
mod folder;
mod progress;
mod table;
mod verdict;
mod version;

pub use check::{CheckError, check, observe};
pub use exercise::{Argument, Case, Demand, Exercise, Files, Given, Holds, Part, Problem};
pub use figures::{Figure, Figures, reference};
pub use folder::{ARCH, Folder, FolderError};
pub use progress::Progress;
pub use table::ALL;
pub use verdict::{Site, Verdict, Wrong};
pub use version::{Version, VersionError};

/// The exercise of this name.
pub fn find(name: &str) -> Option<&'static Exercise> {
    ALL.iter().find(|exercise| exercise.name == name)
}

/// The place of an exercise in the table, from 1.
pub fn number(exercise: &Exercise) -> usize {
    let at = ALL.iter().position(|other| other.name == exercise.name);
    at.map_or(0, |index| index + 1)
}

//! A learner's file, compiled, checked and scored.

use super::{first_open, next_step};
use crate::{Outcome, output};
use anyhow::Context;
use cuda_builder::{CudaBuilderError, Toolchain};
use ptx_emulator::Module;
use ptx_emulator::counters::SourceLine;
use std::io::{self, Write};
use warpladder_learn::{CheckError, Exercise, Figure, Figures, Folder, Verdict};

/// What an error about the toolchain is about.
pub(super) const NIGHTLY: &str = "exercises are compiled by a nightly Rust";

/// Checks the learner's file of an exercise, says what it came to, and keeps it.
pub(super) fn attempt(folder: &Folder, exercise: &'static Exercise) -> anyhow::Result<Outcome> {
    let mut progress = folder.progress()?;
    let file = folder.file(exercise);
    std::fs::metadata(&file).with_context(|| {
        format!(
            "{}: `warpladder learn start` puts it there again",
            file.display()
        )
    })?;
    folder.check_sources()?;
    let passed = match judge(folder, exercise)? {
        Judged::Checked(verdict) => {
            print(&mut output::stdout(), folder, exercise, &verdict)?;
            verdict.passed()
        }
        Judged::Unusable(complaint) => {
            writeln!(output::stdout(), "{}: {complaint}", exercise.name)?;
            false
        }
    };
    let changed = match passed {
        true => progress.passed.insert(exercise.name.to_owned()),
        false => progress.passed.remove(exercise.name),
    };
    if changed {
        folder.save(&progress)?;
    }
    if !passed {
        return Ok(Outcome::ChecksFailed);
    }
    let next = first_open(&progress);
    writeln!(output::stdout(), "\n{}", next_step(folder, &progress, next))?;
    Ok(Outcome::Done)
}

/// What a learner's file came to.
pub(super) enum Judged {
    /// It ran.
    Checked(Verdict),
    /// It could not; why, and what to do.
    Unusable(String),
}

pub(super) fn judge(folder: &Folder, exercise: &Exercise) -> anyhow::Result<Judged> {
    if !folder.is_compiled() {
        // Before half a minute is promised.
        Toolchain::find(folder.path()).context(NIGHTLY)?;
        writeln!(
            output::stderr(),
            "compiling Rust's core library for the GPU: once, about half a minute"
        )?;
    }
    let ptx = match folder.compile(exercise) {
        Ok(ptx) => ptx,
        Err(CudaBuilderError::BuildFailed { .. }) => {
            return Ok(Judged::Unusable(
                "does not compile: the compiler's messages are above".to_owned(),
            ));
        }
        Err(error @ CudaBuilderError::PtxText { .. }) => {
            return Ok(Judged::Unusable(error.to_string()));
        }
        Err(error) => return Err(error).context(NIGHTLY),
    };
    let module = Module::parse(&ptx)?;
    match warpladder_learn::check(exercise, &module, exercise.name) {
        Ok(verdict) => Ok(Judged::Checked(verdict)),
        Err(error @ (CheckError::Kernel(_) | CheckError::Launch(_))) => {
            Ok(Judged::Unusable(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

fn print(
    to: &mut dyn Write,
    folder: &Folder,
    exercise: &Exercise,
    verdict: &Verdict,
) -> io::Result<()> {
    let name = exercise.name;
    let source = |place: &SourceLine| folder.line(place);
    match verdict {
        Verdict::Passed { figures } => {
            writeln!(to, "{name}: passed")?;
            score(to, name, figures)
        }
        Verdict::TooCostly { figures, .. } => {
            writeln!(to, "{name}: {}", verdict.complaint(&source))?;
            score(to, name, figures)
        }
        Verdict::Found { .. } | Verdict::Endless { .. } | Verdict::Wrong { .. } => {
            writeln!(to, "{name}: {}", verdict.complaint(&source))
        }
    }
}

/// The figures beside the reference's.
fn score(to: &mut dyn Write, name: &str, figures: &Figures) -> io::Result<()> {
    let Some(reference) = warpladder_learn::reference(name) else {
        return Ok(());
    };
    for figure in Figure::ALL {
        let (own, reference) = (figures.get(figure), reference.get(figure));
        if own == 0 && reference == 0 {
            continue;
        }
        writeln!(to, "  {figure:<16} {own:>8}   {}", beside(own, reference))?;
    }
    Ok(())
}

/// How a figure compares with the reference's.
fn beside(own: u64, reference: u64) -> String {
    match (own, reference) {
        _ if own == reference => "as good as the reference".to_owned(),
        (0, _) => format!("better than the reference: {reference}"),
        (_, 0) => "the reference has none".to_owned(),
        _ if own < reference => format!("better than the reference: {reference}"),
        _ => format!(
            "{:.2} times the reference's {reference}",
            own as f64 / reference as f64
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_the_reference() {
        for (own, reference, text) in [
            (4, 4, "as good as the reference"),
            (2, 4, "better than the reference: 4"),
            (0, 4, "better than the reference: 4"),
            (7, 0, "the reference has none"),
            (31, 10, "3.10 times the reference's 10"),
        ] {
            assert_eq!(beside(own, reference), text);
        }
    }
}

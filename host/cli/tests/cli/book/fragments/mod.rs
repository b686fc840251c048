//! Everything in the book that is output: file in `book/src/generated`, and what writes it.

mod families;
mod others;
mod pictures;
mod products;

use super::{chapters, counters, predicted, read, results, terminal};
use rayon::prelude::*;
use test_sample::Sample;
use warpladder_lab::problem::Shape;

/// What writes a fragment.
#[derive(Clone, Copy)]
pub enum Of {
    /// What kernels do to the machine at this size, a column for each.
    Counters(&'static [&'static str], Shape),
    /// The same of kernels that plan by the number of multiprocessors, for two of them.
    CountersOfTwo(&'static [&'static str], Shape),
    /// Times on the H200, with predictions.
    Measured(&'static [&'static str]),
    /// The same, from a file of `results/h200` at another size.
    MeasuredIn(&'static str, &'static [&'static str]),
    /// Times that the models give for an H200, at this size.
    Predicted(&'static [&'static str], Shape),
    /// Figures of a source, by its number, and of one of its groups, by the beginning of its name.
    Sources(&'static str, &'static str),
    /// The same, of these kernels alone.
    SomeSources(&'static str, &'static str, &'static [&'static str]),
    /// Sweeps over warps.
    Sweeps(&'static [&'static str]),
    /// A file of comparisons.
    Compared(&'static str),
    /// Figures of the calibration: name, and what it is.
    Calibrated(&'static [(&'static str, &'static str)]),
    /// A command, and what it prints.
    Console(&'static str),
    /// The same, from the line that begins so to before the one that begins so.
    Excerpt(&'static str, &'static str, Option<&'static str>),
    /// A command of the debugger, what is typed to it, and its answers.
    Debugged(&'static str, &'static [&'static str]),
    /// A recording of the first minutes in a terminal with this number of columns.
    FirstMinutes(u32),
    /// The picture of a kernel's accesses at this size.
    Drawn(&'static str, &'static str),
    /// PTX of a module and a kernel, from the line that contains this to the one that contains
    /// that.
    Ptx(&'static str, &'static str, &'static str, &'static str),
}

const fn cube(size: u32) -> Shape {
    Shape {
        m: size,
        n: size,
        k: size,
    }
}

use Of::*;

/// The fragments, by chapter.
pub fn fragments() -> impl Iterator<Item = &'static (&'static str, Of)> {
    let fragments = products::FRAGMENTS.iter().chain(others::FRAGMENTS);
    fragments
        .chain(families::FRAGMENTS)
        .chain(pictures::FRAGMENTS)
}

fn text(of: Of) -> String {
    match of {
        Counters(kernels, shape) => counters::counters(kernels, shape, None),
        CountersOfTwo(kernels, shape) => counters::counters(kernels, shape, Some(2)),
        Predicted(kernels, shape) => predicted::predicted(kernels, shape),
        Measured(kernels) => results::measured("run.json", kernels),
        MeasuredIn(file, kernels) => results::measured(file, kernels),
        Sources(source, group) => results::sources(source, group, None),
        SomeSources(source, group, kernels) => results::sources(source, group, Some(kernels)),
        Sweeps(kernels) => results::sweeps(kernels),
        Compared(file) => results::compared(file),
        Calibrated(names) => results::calibrated(names),
        Console(command) => terminal::console(command, "", None),
        Excerpt(command, from, until) => terminal::console(command, from, until),
        Debugged(command, commands) => terminal::debugged(command, commands),
        FirstMinutes(columns) => terminal::first_minutes(columns),
        Drawn(kernel, size) => terminal::drawn(kernel, size),
        Ptx(module, kernel, from, until) => terminal::ptx(module, kernel, from, until),
    }
}

#[test]
fn the_output_is_that_of_now() {
    let folder = chapters().join("generated");
    let update = std::env::var_os("WARPLADDER_UPDATE").is_some();
    let all: Vec<_> = fragments().collect();
    let (sample, count) = (Sample::from_env(), all.len());
    let drawn = if update {
        all
    } else {
        let drawn = sample.draw(all, count.div_ceil(4), |(file, _)| (*file).to_owned());
        sample.report(drawn.len(), count, "outputs in the book");
        drawn
    };
    drawn.par_iter().for_each(|(file, of)| {
        let path = folder.join(file);
        let now = text(*of);
        if update {
            std::fs::write(&path, now).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        } else {
            assert_eq!(
                read(&path),
                now,
                "{file}: run `WARPLADDER_UPDATE=1 cargo test -p warpladder-cli --test cli book`, and look at what changed"
            );
        }
    });
}

#[test]
fn there_is_no_other_output() {
    for entry in std::fs::read_dir(chapters().join("generated")).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let known = fragments().any(|(file, _)| name == *file);
        assert!(known, "nothing writes {name:?}");
    }
}

//! Mutation test of the sanitizers, on the kernels of the catalogue.
//!
//! From every kernel each barrier and each arrival at one in shared memory is removed in turn, each
//! bounds test is dropped in turn, and each store to global memory is shifted by one element in
//! turn. The sanitizers must report every such mutant at one of a few small sizes, and nothing in
//! the kernels as they are. Left out are mutants that do what the kernel does at all of these
//! sizes, since the statement is not reached or the test holds for all threads, and those that
//! always go the one of two ways to a result if to go the other one is reported. `unreported` lists
//! the rest, each with the reason.
//!
//! `WARPLADDER_TEST=full` runs all mutants. Otherwise the seed draws a quarter of the rungs, and
//! one in [`ONE_IN`] of their mutants.
//! `WARPLADDER_RUNGS` names rungs: see [`is_named`].

mod engine;

mod executions;
mod mutants;
mod source;
mod unreported;

use crate::common::is_named;
use engine::MutantEngine;
use executions::Executions;
use mutants::{Kind, Mutant};
use ptx_emulator::sanitize::{Finding, Tool};
use ptx_emulator::{Observer, Sanitizer};
use source::Sources;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use test_sample::Sample;
use warpladder::check::Verdict;
use warpladder::element::Element;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;
use warpladder::launch::Param;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::dispatch_element;
use warpladder_lab::problem::product::Product;
use warpladder_lab::problem::{Operation, Problem, Shape};
use warpladder_lab::run::{self, Admitted, RunError, preflight};
use warpladder_lab::sanitize::default_shape;

/// A mutant that no sanitizer reported: kernel, what was changed, and where.
type Survivor = (String, String);

/// In a sample, one in this many mutants runs.
const ONE_IN: u64 = 8;

#[test]
fn the_sanitizers_report_every_mutant_that_is_a_bug() {
    let sample = Sample::from_env();
    let mut rungs: Vec<&'static Rung> = catalogue::rungs()
        .filter(|rung| rung.compute_capability().is_some())
        .filter(|rung| is_named(rung))
        .collect();
    // Those that repeat their work are in no table.
    let repeated = rungs.clone().into_iter().filter_map(Rung::repeated);
    rungs.extend(repeated.map(|rung| &*Box::leak(Box::new(rung))));
    // To run a rung as it is takes longer than most of its mutants do.
    let count = rungs.len();
    rungs = sample.draw(rungs, count.div_ceil(4), |rung| rung.name.to_owned());
    sample.report(rungs.len(), count, "rungs with their mutants");
    let sample = sample.of_drawn();
    // The dearest first, so that no worker is left with one of them at the end.
    rungs.sort_by_key(|rung| match (rung.implementation, rung.operation) {
        (Implementation::Planned { .. }, _) => 0,
        (_, Operation::TensorProduct(_) | Operation::TensorProduct16(_)) => 1,
        _ => 2,
    });
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Outcome::default());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(rung) = rungs.get(next.fetch_add(1, Relaxed)) {
                    let outcome = mutate(rung, &sample);
                    all.lock().unwrap().add(outcome);
                }
            });
        }
    });
    let Outcome {
        all,
        mutants,
        idle,
        ways,
        survivors,
    } = all.into_inner().unwrap();
    sample.report(mutants.values().sum(), all, "mutants");
    println!(
        "mutants: {mutants:?}; idle: {idle:?}; always the same way: {ways:?}; not reported: {}",
        survivors.len()
    );
    let listed: BTreeSet<Survivor> = unreported::all()
        .map(|(kernel, mutant)| (kernel.to_owned(), mutant))
        .collect();
    // The table may be longer than it needs to be after a change to a kernel; it may not be
    // shorter.
    if sample.is_full() {
        for (kernel, mutant) in listed.difference(&survivors) {
            println!("listed as not reported, and yet reported or gone: {kernel}: {mutant}");
        }
    }
    let missed: Vec<&Survivor> = survivors.difference(&listed).collect();
    assert!(missed.is_empty(), "not reported ({sample}): {missed:#?}");
}

/// An extent along k of which blocks that share a tile fill some stages twice. It is dear, and
/// shows only whether stages are given back.
const FOR_ARRIVALS: u32 = 4608;

/// The sizes that a rung is tried at: awkward ones where it takes any, so that edges are met,
/// others of whole tiles, of more than one k-tile, and of less and of more work than a grid has
/// threads.
fn shapes(rung: &Rung) -> Vec<Shape> {
    let shape = |m, n, k| Shape { m, n, k };
    let default = default_shape(rung);
    let mut shapes = vec![default, shape(default.m, default.n, 2 * default.k)];
    shapes.extend([20, 32, 64, 128].map(|n| shape(n, n, n)));
    // The last row in the first work unit of a tile.
    shapes.push(shape(67, 61, 53));
    match rung.operation {
        // A last stage in each slot of a pipeline, of any number of stages.
        Operation::Product if matches!(rung.implementation, Implementation::Planned { .. }) => {
            shapes.extend([65, 72, 80, 144].map(|k| shape(40, 72, k)));
        }
        // More tiles of keys than there are stages in the rungs with heads of 128.
        Operation::Attention { head: 128, .. } => shapes.push(shape(600, 128, 700)),
        Operation::Transpose => shapes.push(shape(200, 264, 1)),
        Operation::MatVec { .. } => shapes.push(shape(512, 512, 1)),
        // More tiles than the block that scans their sums takes at once.
        Operation::Scan => shapes.push(shape(520, 512, 1)),
        // Rows of several warps of a block that is as wide as they are; all but the first begin in
        // the middle of a vector.
        Operation::Softmax => shapes.push(shape(3, 2051, 1)),
        // A tile of which there is but the edge, a wide one that passes every stage twice, and one
        // that blocks share.
        Operation::TensorProduct(_) | Operation::TensorProduct16(_) => {
            shapes.insert(0, shape(72, 8, 64));
            shapes.push(shape(64, 256, 640));
            shapes.push(shape(64, 64, 2560));
            shapes.push(shape(64, 64, FOR_ARRIVALS));
            // Operands of odd pitch that are copied, all of their rows by a thread's first vector.
            shapes.push(shape(15, 24, 53));
        }
        _ => {}
    }
    let mut taken = Vec::new();
    for shape in shapes {
        if rung.precondition.takes(rung.operation, shape) && !taken.contains(&shape) {
            taken.push(shape);
        }
    }
    taken
}

/// A rung that is told the size of its small matrix, with the largest that it takes.
fn largest(rung: &'static Rung) -> Option<&'static Rung> {
    let Operation::MatVec { any: true, .. } = rung.operation else {
        return None;
    };
    let operation = Operation::MatVec {
        rows: 32,
        columns: 32,
        any: true,
    };
    Some(Box::leak(Box::new(Rung { operation, ..*rung })))
}

/// The problem of a rung. Columns lie without padding where the problem allows it: an access beyond
/// one is then seen.
fn problem<T: Element>(rung: &Rung, shape: Shape) -> Box<dyn Problem<T>> {
    match rung.operation {
        Operation::ColumnMajorProduct => {
            let lds = [shape.m, shape.k, shape.m].map(|rows| rows as usize);
            Box::new(Product::column_major(shape, lds, 1))
        }
        // In no table: one that repeats its work.
        Operation::Copy | Operation::Transpose if catalogue::find(rung.name).is_none() => {
            Box::new(Repeated(rung.operation.problem(shape, 1)))
        }
        operation => operation.problem(shape, 1),
    }
}

/// A problem whose kernel is told to do its work several times: more often than the compiler
/// unrolls the loop.
struct Repeated<T>(Box<dyn Problem<T>>);

const REPETITIONS: u32 = 9;

impl<T: Element> Problem<T> for Repeated<T> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn inputs(&self) -> &[Vec<T>] {
        self.0.inputs()
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn params(&self) -> Vec<Param> {
        let mut params = self.0.params();
        params.push(Param::U32(REPETITIONS));
        params
    }

    fn check(&self, output: &[T]) -> Verdict {
        self.0.check(output)
    }
}

/// What became of the mutants of some kernels.
#[derive(Default)]
struct Outcome {
    /// How many there are.
    all: usize,
    /// How many ran, of each kind.
    mutants: BTreeMap<&'static str, usize>,
    /// How many of each kind do what the kernel does at all of the sizes.
    idle: BTreeMap<&'static str, usize>,
    /// How many always go one of two ways to the same result.
    ways: BTreeMap<&'static str, usize>,
    /// Those that no sanitizer reports.
    survivors: BTreeSet<Survivor>,
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        for (own, other) in [
            (&mut self.mutants, other.mutants),
            (&mut self.idle, other.idle),
            (&mut self.ways, other.ways),
        ] {
            for (kind, count) in other {
                *own.entry(kind).or_insert(0) += count;
            }
        }
        self.survivors.extend(other.survivors);
    }
}

fn mutate(rung: &'static Rung, sample: &Sample) -> Outcome {
    dispatch_element!(rung.element, T => mutate_elements::<T>(rung, sample))
}

fn mutate_elements<T: Element>(rung: &'static Rung, sample: &Sample) -> Outcome {
    let case = |rung| {
        shapes(rung)
            .into_iter()
            .map(move |shape| RungAtSize::new(rung, shape))
    };
    let mut cases: Vec<RungAtSize<T>> = [rung]
        .into_iter()
        .chain(largest(rung))
        .flat_map(case)
        .collect();
    cases.sort_by_key(|case| case.executions.total());
    let entries: BTreeMap<&String, &String> = cases.iter().flat_map(|case| &case.entries).collect();
    let mut sources = Sources::default();
    let mut outcome = Outcome::default();
    for (entry, text) in entries {
        let mutants = mutants::of_kernel(text, &mut sources);
        outcome.all += mutants.len();
        for (index, mutant) in mutants.iter().enumerate() {
            let name = mutant.name();
            if !sample.takes(&format!("{entry} {name}"), ONE_IN) {
                continue;
            }
            let kind = mutant.kind.name();
            *outcome.mutants.entry(kind).or_insert(0) += 1;
            // Of two ways to the same result one is right at all sizes: the other one must be
            // reported.
            let other_way = || {
                let others = mutants.iter().enumerate();
                let mut others =
                    others.filter(|&(at, other)| at != index && other.line == mutant.line);
                mutant.kind == Kind::Guard
                    && others.any(|(_, other)| fate(&cases, (entry, text), other) == Fate::Reported)
            };
            match fate(&cases, (entry, text), mutant) {
                Fate::Reported => {}
                Fate::Idle => *outcome.idle.entry(kind).or_insert(0) += 1,
                Fate::Missed if other_way() => *outcome.ways.entry(kind).or_insert(0) += 1,
                Fate::Missed => {
                    println!("{entry}: {name}: {}", mutant.statement);
                    outcome.survivors.insert((entry.clone(), name));
                }
            }
        }
    }
    outcome
}

/// What becomes of a mutant.
#[derive(PartialEq)]
enum Fate {
    Reported,
    /// It does what the kernel does, at all sizes.
    Idle,
    Missed,
}

/// What becomes of a mutant at the sizes at which its statement is reached. It is parsed once, and
/// the sizes go from the cheapest to the dearest, up to the first at which it is reported.
fn fate<T: Element>(
    cases: &[RungAtSize<T>],
    (entry, original): (&str, &str),
    mutant: &Mutant,
) -> Fate {
    let text = mutant.applied(original);
    let emulator = EmulatorEngine::limited(BUDGET);
    let replaced = Some((entry, text.as_str()));
    let mut fate = Fate::Idle;
    for case in cases {
        let is_for_others = case.admitted.shape().k == FOR_ARRIVALS && mutant.kind != Kind::Arrival;
        if is_for_others || !case.executions.reach(entry, mutant.line) {
            continue;
        }
        // A test that decides nothing changes nothing. A store elsewhere, or one barrier less,
        // shows in no count.
        if mutant.kind == Kind::Guard {
            let changed = case.run(&emulator, replaced, Executions::default()).0;
            if changed.of_kernel(entry) == case.executions.of_kernel(entry) {
                continue;
            }
        }
        if !case.findings(&emulator, replaced).is_empty() {
            return Fate::Reported;
        }
        fate = Fate::Missed;
    }
    fate
}

/// A rung at a size.
struct RungAtSize<T> {
    admitted: Admitted,
    problem: Box<dyn Problem<T>>,
    /// The entries that it loads, each with its PTX.
    entries: BTreeMap<String, String>,
    /// What the kernels do as they are.
    executions: Executions,
}

/// Warp instructions that a launch may issue: many times what a kernel needs at these sizes.
const BUDGET: u64 = 1 << 25;

impl<T: Element> RungAtSize<T> {
    /// Runs the rung, in which the sanitizers must find nothing.
    fn new(rung: &'static Rung, shape: Shape) -> Self {
        let emulator = EmulatorEngine::limited(BUDGET);
        let admitted = preflight(&emulator, rung, shape);
        let mut case = RungAtSize {
            admitted: admitted.unwrap_or_else(|error| panic!("{error}")),
            problem: problem(rung, shape),
            entries: BTreeMap::new(),
            executions: Executions::default(),
        };
        let found = case.findings(&emulator, None);
        assert!(found.is_empty(), "{} as it is: {}", rung.name, found[0]);
        (case.executions, case.entries) = case.run(&emulator, None, Executions::default());
        case
    }

    /// What the sanitizers find. `mutant` is an entry, and the text to run in place of its own.
    fn findings(&self, emulator: &EmulatorEngine, mutant: Option<(&str, &str)>) -> Vec<Finding> {
        let (sanitizer, _) = self.run(emulator, mutant, Sanitizer::new(&Tool::ALL));
        sanitizer.all_findings()
    }

    /// Runs under an observer, and gives it back with the entries that were loaded.
    fn run<O: Observer>(
        &self,
        emulator: &EmulatorEngine,
        mutant: Option<(&str, &str)>,
        observer: O,
    ) -> (O, BTreeMap<String, String>) {
        let engine = MutantEngine::new(emulator, mutant, observer);
        match run::launch(&engine, &self.admitted, &*self.problem) {
            // A kernel that fails is for the observer to judge.
            Ok(()) | Err(RunError::Engine(EngineError::Launch { .. })) => engine.finish(),
            Err(error) => panic!("{}: {error}", self.admitted.rung().name),
        }
    }
}

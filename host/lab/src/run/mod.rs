//! Runs rungs of the catalogue: check first, then time, then one record each.

mod case;
mod cpu;
mod preflight;
mod record;

pub use case::Case;
pub use preflight::{RunError, check_shape, describe, preflight, request};
pub use record::{Detailed, Record, SCHEMA};
pub use warpladder::timing::{Cache, Sampling, Stop};

use crate::catalogue::Request;
use crate::catalogue::{Implementation, Rung};
use crate::problem::{Operation, Problem, Shape};
use warpladder::check::Verdict;
use warpladder::element::{Element, ElementType};
use warpladder::engine::Engine;
use warpladder::error::EngineError;

use half::{bf16, f16};
use std::collections::HashMap;

/// The problems of one run, each made when the first rung asks for it.
pub struct Problems {
    shape: Shape,
    seed: u64,
    f16: HashMap<Operation, Box<dyn Problem<f16>>>,
    bf16: HashMap<Operation, Box<dyn Problem<bf16>>>,
    f32: HashMap<Operation, Box<dyn Problem<f32>>>,
    f64: HashMap<Operation, Box<dyn Problem<f64>>>,
}

impl Problems {
    /// Problems of this shape, with inputs drawn by `seed`.
    pub fn new(shape: Shape, seed: u64) -> Self {
        Problems {
            shape,
            seed,
            f16: HashMap::new(),
            bf16: HashMap::new(),
            f32: HashMap::new(),
            f64: HashMap::new(),
        }
    }

    /// Runs one rung: checks it, then times it, at least once. `sampling` says how; a number alone is how often.
    ///
    /// # Errors
    /// Where the rung cannot run at all: see [`RunError`]. A kernel that fails or gives a wrong output is no
    /// error but a record that is not ok.
    pub fn run(
        &mut self,
        engine: &dyn Engine,
        rung: &'static Rung,
        sampling: impl Into<Sampling>,
    ) -> Result<Record, RunError> {
        let sampling = &sampling.into();
        let Problems { shape, seed, .. } = *self;
        preflight(engine, rung, shape)?;
        let operation = rung.operation;
        match rung.element {
            ElementType::F16 => {
                let make = || operation.problem(shape, seed);
                let problem = &**self.f16.entry(operation).or_insert_with(make);
                run_kernel(engine, rung, shape, problem, sampling)
            }
            ElementType::Bf16 => {
                let make = || operation.problem(shape, seed);
                let problem = &**self.bf16.entry(operation).or_insert_with(make);
                run_kernel(engine, rung, shape, problem, sampling)
            }
            ElementType::F32 => {
                let make = || operation.problem(shape, seed);
                let problem = &**self.f32.entry(operation).or_insert_with(make);
                if let Implementation::Cpu(product) = rung.implementation {
                    return Ok(cpu::run(product, rung, shape, problem, sampling));
                }
                run_kernel(engine, rung, shape, problem, sampling)
            }
            ElementType::F64 => {
                let make = || operation.problem(shape, seed);
                let problem = &**self.f64.entry(operation).or_insert_with(make);
                run_kernel(engine, rung, shape, problem, sampling)
            }
        }
    }
}

/// The output of a kernel and what the check says of it; for tests that compare engines.
///
/// # Errors
/// See [`Problems::run`]; a kernel that fails is an error here.
pub fn output<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
) -> Result<(Vec<T>, Verdict), RunError> {
    let case = Case::new(engine, rung, shape, problem)?;
    Ok(case.checked_output(problem)?)
}

/// Runs a kernel once on memory to which nothing but the inputs was written; for observers, who see what it does.
///
/// # Errors
/// As [`output`].
pub fn launch<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
) -> Result<(), RunError> {
    let case = Case::new(engine, rung, shape, problem)?;
    Ok(case.run_on_fresh_output(problem)?)
}

/// [`launch`] with the launches that are planned for a request, which may be for another device than the engine's; the rung is
/// one that takes the size, and does not dispatch.
///
/// # Errors
/// As [`output`].
pub fn launch_as<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    request: &Request,
    problem: &dyn Problem<T>,
) -> Result<(), RunError> {
    let Some(plan) = rung.plan(request, problem.params()) else {
        unreachable!("{} is not launched", rung.name);
    };
    let case = Case::of_plan(engine, plan, problem)?;
    Ok(case.run_on_fresh_output(problem)?)
}

fn run_kernel<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
    sampling: &Sampling,
) -> Result<Record, RunError> {
    let mut record = Record::new(rung, shape, engine.kind(), engine.device_name());
    let runs = rung.resolve(shape).name;
    record.ran = (runs != rung.name).then_some(runs);
    let outcome = Case::new(engine, rung, shape, problem).and_then(|case| {
        let (_, verdict) = case.checked_output(problem)?;
        let times = if case.is_empty() {
            None
        } else {
            let before = engine.state();
            let times = case.times(problem, sampling)?;
            if let Some(after) = engine.state() {
                record.observed(before.as_ref(), &after);
            }
            Some(times)
        };
        Ok((verdict, times))
    });
    match outcome {
        Ok((verdict, mut times)) => {
            let repeated = times.as_mut().and_then(|times| times.repeated.take());
            let is_first_complaint = |repeated: &Verdict| verdict.ok && !repeated.ok;
            record.checked(repeated.filter(is_first_complaint).unwrap_or(verdict));
            if let Some(times) = times {
                record.timed(rung, shape, times);
            }
        }
        // A kernel that fails is a failed check, not a reason to leave the others out.
        Err(RunError::Engine(error @ EngineError::Launch { .. })) => {
            record.complaint = Some(error.to_string());
        }
        Err(error) => return Err(error),
    }
    Ok(record)
}

/// Times of one rung.
struct Times {
    /// Of the kernel alone, in milliseconds, in the order in which they were taken.
    kernel: Vec<f64>,
    /// Why there are no more of them.
    stop: Stop,
    /// What the caches held; `None` where there are none.
    cache: Option<Cache>,
    /// With the transfers.
    host_to_host_ms: Option<f64>,
    /// Of one of several launches in a row.
    outer_ms: Option<f64>,
    /// Of one of several repetitions inside of a kernel.
    inner_ms: Option<f64>,
    /// The check of what those repetitions stored.
    repeated: Option<Verdict>,
}

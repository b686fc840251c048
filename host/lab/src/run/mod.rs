//! Runs rungs of the catalogue: check first, then time, then one record each.

mod cpu;
mod loaded;
mod preflight;
mod record;

pub use loaded::LoadedRung;
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub(crate) use loaded::NAN_BYTE;
pub(crate) use loaded::pointers;
pub use preflight::{
    Admitted, RunError, Variant, check_shape, describe, preflight, preflight_with,
};
pub(crate) use preflight::{check_generation, preflight_elsewhere};
pub use record::{Detailed, Predicted, Record, SCHEMA, Step, read_records};
pub use warpladder::timing::{Cache, Sampling, Stop};

use crate::dispatch_element;
use crate::problem::{Operation, Problem, Shape};
use preflight::Work;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use warpladder::check::Verdict;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder::error::EngineError;

/// The problems of one run, each made when the first rung asks for it.
pub struct Problems {
    seed: u64,
    /// Each a `Box<dyn Problem<T>>` of the type that its key names.
    made: HashMap<(TypeId, Operation, Shape), Box<dyn Any>>,
}

impl Problems {
    /// Problems with inputs drawn by `seed`.
    pub fn new(seed: u64) -> Self {
        Problems {
            seed,
            made: HashMap::new(),
        }
    }

    /// Runs one rung: checks it, then times it, at least once. `sampling` says how; a number alone
    /// is how often.
    ///
    /// # Errors
    /// Where the engine fails outside of the kernel: see [`RunError`]. A kernel that fails or gives
    /// a wrong output is no error but a record that is not ok.
    pub fn run(
        &mut self,
        engine: &dyn Engine,
        admitted: &Admitted,
        sampling: impl Into<Sampling>,
    ) -> Result<Record, RunError> {
        let sampling = &sampling.into();
        match *admitted.work() {
            // The function says what its elements are.
            Work::Host(product) => {
                let problem = self.problem(admitted);
                Ok(cpu::run(product, admitted, problem, sampling))
            }
            Work::Launches { .. } => {
                dispatch_element!(admitted.runs().element, T => {
                    run_kernel::<T>(engine, admitted, self.problem(admitted), sampling)
                })
            }
        }
    }

    fn problem<T: Element>(&mut self, admitted: &Admitted) -> &dyn Problem<T> {
        let key = (
            TypeId::of::<T>(),
            admitted.runs().operation,
            admitted.shape(),
        );
        let seed = self.seed;
        let made = self
            .made
            .entry(key)
            .or_insert_with(|| Box::new(admitted.problem::<T>(seed)));
        let problem: Option<&Box<dyn Problem<T>>> = made.downcast_ref();
        &**problem.expect("the key holds the type")
    }
}

/// The output of a kernel and what the check says of it; for tests that compare engines.
///
/// # Errors
/// See [`Problems::run`]; a kernel that fails is an error here.
pub fn output<T: Element>(
    engine: &dyn Engine,
    admitted: &Admitted,
    problem: &dyn Problem<T>,
) -> Result<(Vec<T>, Verdict), RunError> {
    let loaded = LoadedRung::new(engine, admitted, problem)?;
    Ok(loaded.checked_output(problem)?)
}

/// Runs a kernel once on memory to which nothing but the inputs was written; for observers, which
/// see what it does.
///
/// # Errors
/// Those of [`output`].
pub fn launch<T: Element>(
    engine: &dyn Engine,
    admitted: &Admitted,
    problem: &dyn Problem<T>,
) -> Result<(), RunError> {
    let loaded = LoadedRung::new(engine, admitted, problem)?;
    Ok(loaded.run_on_fresh_output(problem)?)
}

fn run_kernel<T: Element>(
    engine: &dyn Engine,
    admitted: &Admitted,
    problem: &dyn Problem<T>,
    sampling: &Sampling,
) -> Result<Record, RunError> {
    let (rung, shape) = (admitted.rung(), admitted.shape());
    let mut record = Record::new(rung, shape, engine.kind(), engine.device_name());
    let runs = admitted.runs().name;
    record.ran = (runs != rung.name).then(|| runs.to_owned());
    record.generation = admitted.generation();
    let outcome = LoadedRung::new(engine, admitted, problem).and_then(|loaded| {
        let (_, verdict) = loaded.checked_output(problem)?;
        let times = if loaded.is_empty() {
            None
        } else {
            let before = engine.state();
            let times = loaded.times(problem, sampling)?;
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

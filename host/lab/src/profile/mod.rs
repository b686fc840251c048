//! What a kernel does to the machine: a rung run on the emulator under [`Counters`].

mod listing;
mod record;
mod source;

pub use listing::{LineCounters, SourceFile, SourceLine, listing};
pub use record::{Measurement, Record};
pub use source::{Sources, distinct, is_anchor};

use crate::catalogue::{Implementation, Rung};
use crate::problem::Shape;
use crate::run::{self, RunError};
use half::{bf16, f16};
use ptx_emulator::Counters;
use warpladder::check::Verdict;
use warpladder::element::{Element, ElementType};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::{ObservedEngine, PerLaunch};

/// A rung that ran once and was counted.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The rung.
    pub rung: &'static Rung,
    /// The rung that ran: another one where the rung dispatches.
    pub ran: &'static Rung,
    /// The size.
    pub shape: Shape,
    /// Whether the output was right.
    pub verdict: Verdict,
    /// What the kernel did; nothing where the problem is empty. Of a plan of several kernels it is the first, which does the
    /// work that the others finish.
    pub counters: Counters,
    /// What the kernels after it did.
    pub following: Vec<Counters>,
}

/// Why a rung was not profiled.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It is a function of the host.
    #[error("{0} runs on the host and not as a kernel: choose a kernel, see `warpladder list`")]
    NotAKernel(&'static str),
    /// It could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs a rung once on an emulator, checks its output and counts what it does. `seed` draws the inputs.
///
/// # Errors
/// See [`ProfileError`]; a kernel that fails is an error, a wrong output is not.
pub fn profile(
    emulator: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Profile, ProfileError> {
    if let Implementation::Cpu(_) = rung.implementation {
        return Err(ProfileError::NotAKernel(rung.name));
    }
    let engine = ObservedEngine::new(emulator, PerLaunch::new(Counters::new()));
    let verdict = match rung.element {
        ElementType::F16 => checked::<f16>(&engine, rung, shape, seed),
        ElementType::Bf16 => checked::<bf16>(&engine, rung, shape, seed),
        ElementType::F32 => checked::<f32>(&engine, rung, shape, seed),
        ElementType::F64 => checked::<f64>(&engine, rung, shape, seed),
    }?;
    let mut launches = engine.into_observer().seen.into_iter();
    Ok(Profile {
        rung,
        ran: rung.resolve(shape),
        shape,
        verdict,
        counters: launches.next().unwrap_or_default(),
        following: launches.collect(),
    })
}

fn checked<T: Element>(
    engine: &ObservedEngine<'_, PerLaunch<Counters>>,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Verdict, RunError> {
    // Before the inputs are made, which may be large.
    run::preflight(engine, rung, shape)?;
    let problem = rung.operation.problem::<T>(shape, seed);
    let (_, verdict) = run::output(engine, rung, shape, &*problem)?;
    Ok(verdict)
}

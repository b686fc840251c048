//! What a kernel does wrong: a rung run on the emulator under sanitizers.

use crate::catalogue::{Implementation, Precondition, Rung};
use crate::problem::Shape;
use crate::run::{self, RunError};
use half::{bf16, f16};
use ptx_emulator::Sanitizer;
use ptx_emulator::sanitize::{Finding, Tool};
use warpladder::element::{Element, ElementType};
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;
use warpladder::error::EngineError;

/// Why a rung was not sanitized.
#[derive(Debug, thiserror::Error)]
pub enum SanitizeError {
    /// It is a function of the host.
    #[error("{0} runs on the host and not as a kernel: choose a kernel, see `warpladder list`")]
    NotAKernel(&'static str),
    /// It could not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Sizes to sanitize at: the first that a rung takes. The first one is no multiple of anything, so that every edge is
/// met; the others are as small as the tiles allow.
const SIZES: [Shape; 4] = [
    Shape {
        m: 61,
        n: 67,
        k: 53,
    },
    Shape {
        m: 64,
        n: 64,
        k: 64,
    },
    Shape {
        m: 128,
        n: 128,
        k: 128,
    },
    Shape {
        m: 256,
        n: 256,
        k: 256,
    },
];

/// A small size that a rung takes.
pub fn default_shape(rung: &Rung) -> Shape {
    let taken = SIZES
        .into_iter()
        .find(|&shape| rung.precondition.takes(rung.operation, shape));
    taken.unwrap_or_else(|| match rung.precondition {
        Precondition::Multiples { m, n, k } => Shape { m, n, k },
        Precondition::Elements(elements) => Shape {
            m: 1,
            n: elements,
            k: 64,
        },
        Precondition::Any => SIZES[0],
    })
}

/// Runs a rung once on an emulator and gives what the sanitizers `tools` found. `seed` draws the inputs; the output
/// is memory to which nothing was written.
///
/// # Errors
/// See [`SanitizeError`]; a kernel that faults is no error but a finding.
pub fn sanitize(
    emulator: &EmulatorEngine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
    tools: &[Tool],
) -> Result<Vec<Finding>, SanitizeError> {
    if let Implementation::Cpu(_) = rung.implementation {
        return Err(SanitizeError::NotAKernel(rung.name));
    }
    let engine = ObservedEngine::new(emulator, Sanitizer::new(tools));
    let outcome = match rung.element {
        ElementType::F16 => launch::<f16>(&engine, rung, shape, seed),
        ElementType::Bf16 => launch::<bf16>(&engine, rung, shape, seed),
        ElementType::F32 => launch::<f32>(&engine, rung, shape, seed),
        ElementType::F64 => launch::<f64>(&engine, rung, shape, seed),
    };
    let findings = engine.into_observer().all_findings();
    match outcome {
        // A fault is among the findings; a launch that was refused has none.
        Err(RunError::Engine(EngineError::Launch { .. })) if !findings.is_empty() => Ok(findings),
        outcome => Ok(outcome.map(|()| findings)?),
    }
}

fn launch<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<(), RunError> {
    let problem = rung.operation.problem::<T>(shape, seed);
    run::launch(engine, rung, shape, &*problem)
}

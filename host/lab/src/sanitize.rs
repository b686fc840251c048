//! What a kernel does wrong: a rung run on the emulator under sanitizers.

use crate::catalogue::{Precondition, Rung};
use crate::observe::observe;
use crate::problem::Shape;
use crate::run::{Admitted, RunError};
use ptx_emulator::Sanitizer;
use ptx_emulator::sanitize::{Finding, Tool};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;

/// Sizes to sanitize at: the first that a rung takes. The first one is no multiple of anything, so
/// that every edge is met; the others are as small as the tiles allow.
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
        Precondition::Any | Precondition::MostRows(_) | Precondition::MostElements(_) => SIZES[0],
    })
}

/// Runs a rung once on an emulator and gives what the sanitizers `tools` found. `seed` draws the
/// inputs; the output is memory to which nothing was written.
///
/// # Errors
/// See [`RunError`]; a kernel that faults is no error but a finding.
pub fn sanitize(
    emulator: &EmulatorEngine,
    admitted: &Admitted,
    seed: u64,
    tools: &[Tool],
) -> Result<Vec<Finding>, RunError> {
    let (sanitizer, outcome) = observe(emulator, admitted, seed, Sanitizer::new(tools))?;
    let findings = sanitizer.all_findings();
    match outcome {
        // A fault is among the findings; a launch that was refused has none.
        Err(RunError::Engine(EngineError::Launch { .. })) if !findings.is_empty() => Ok(findings),
        outcome => outcome.map(|()| findings),
    }
}

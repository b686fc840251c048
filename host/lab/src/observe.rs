//! A rung run once on the emulator under an observer: sanitizers, a debugger.

use crate::dispatch_element;
use crate::run::{self, Admitted, RunError};
use ptx_emulator::Observer;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;

/// Runs a rung once and gives the observer back, and how the run ended. `seed` draws the inputs;
/// the output is memory to which nothing was written.
///
/// # Errors
/// [`RunError`] where the rung has no kernel, before the inputs are made, which may be large.
pub fn observe<O: Observer>(
    emulator: &EmulatorEngine,
    admitted: &Admitted,
    seed: u64,
    observer: O,
) -> Result<(O, Result<(), RunError>), RunError> {
    admitted.kernel()?;
    let engine = ObservedEngine::new(emulator, observer);
    let outcome = dispatch_element!(admitted.runs().element, T => {
        run::launch::<T>(&engine, admitted, &*admitted.problem(seed))
    });
    Ok((engine.into_observer(), outcome))
}

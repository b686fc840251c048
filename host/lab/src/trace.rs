//! A rung's memory accesses, lane by lane: what pictures of it are drawn from.

use crate::dispatch_element;
use crate::run::{self, Admitted, RunError};
use ptx_pictures::{AccessTrace, Watched};
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::{ObservedEngine, PerLaunch};

/// Runs a rung once on an emulator and keeps what one warp of its first kernel accessed. `seed`
/// draws the inputs. Nothing is kept where the problem is empty, or the launch has no such warp.
///
/// # Errors
/// See [`RunError`]; a kernel that fails is an error, a wrong output is not.
pub fn trace(
    emulator: &EmulatorEngine,
    admitted: &Admitted,
    seed: u64,
    watched: Watched,
) -> Result<AccessTrace, RunError> {
    admitted.kernel()?;
    let engine = ObservedEngine::new(emulator, PerLaunch::new(AccessTrace::new(watched)));
    dispatch_element!(admitted.runs().element, T => {
        run::output::<T>(&engine, admitted, &*admitted.problem(seed))?;
    });
    let mut launches = engine.into_observer().seen.into_iter();
    Ok(launches.next().unwrap_or_else(|| AccessTrace::new(watched)))
}

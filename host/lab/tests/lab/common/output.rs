//! What kernels write, whatever their element type.

use warpladder::check::Verdict;
use warpladder::element::Element;
use warpladder::engine::Engine;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::dispatch_element;
use warpladder_lab::problem::{Problem, Shape};
use warpladder_lab::run::{self, Admitted, RunError, preflight};

/// The bytes of an output, padding included, and what the check says of it.
pub type Output = (Vec<u8>, Verdict);

/// Runs a rung, a kernel or one that dispatches to kernels, on the problem of its operation.
pub fn of_rung(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Output, RunError> {
    of_admitted(engine, &preflight(engine, rung, shape)?, seed)
}

/// Runs an admitted rung on the problem of its operation.
pub fn of_admitted(
    engine: &dyn Engine,
    admitted: &Admitted,
    seed: u64,
) -> Result<Output, RunError> {
    dispatch_element!(admitted.runs().element, T => {
        of_problem::<T>(engine, admitted, &*admitted.problem(seed))
    })
}

/// Runs an admitted rung on this problem.
pub fn of_problem<T: Element>(
    engine: &dyn Engine,
    admitted: &Admitted,
    problem: &dyn Problem<T>,
) -> Result<Output, RunError> {
    let (output, verdict) = run::output(engine, admitted, problem)?;
    Ok((bytemuck::cast_slice(&output).to_vec(), verdict))
}

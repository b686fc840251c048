//! What kernels write, whatever their element type.

use half::{bf16, f16};
use warpladder::check::Verdict;
use warpladder::element::{Element, ElementType};
use warpladder::engine::Engine;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::problem::{Problem, Shape};
use warpladder_lab::run::{self, RunError};

/// The bytes of an output, padding included, and what the check says of it.
pub type Output = (Vec<u8>, Verdict);

/// Runs a rung, a kernel or one that dispatches to kernels, on the problem of its operation.
pub fn of_rung(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Output, RunError> {
    let run = match rung.element {
        ElementType::F16 => of_element::<f16>,
        ElementType::Bf16 => of_element::<bf16>,
        ElementType::F32 => of_element::<f32>,
        ElementType::F64 => of_element::<f64>,
    };
    run(engine, rung, shape, seed)
}

fn of_element<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Output, RunError> {
    let problem = rung.operation.problem::<T>(shape, seed);
    of_problem(engine, rung, shape, &*problem)
}

/// Runs a rung on this problem, which is of this shape.
pub fn of_problem<T: Element>(
    engine: &dyn Engine,
    rung: &'static Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
) -> Result<Output, RunError> {
    let (output, verdict) = run::output(engine, rung, shape, problem)?;
    Ok((bytemuck::cast_slice(&output).to_vec(), verdict))
}

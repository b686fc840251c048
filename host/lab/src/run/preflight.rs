//! What cannot work is refused before anything is allocated.

use super::Shape;
use crate::catalogue::Request;
use crate::catalogue::{self, Implementation, Precondition, Rung};
use crate::problem::Operation;
use warpladder::engine::Engine;
use warpladder::error::EngineError;
use warpladder::launch::Param;
use warpladder::memory;
use warpladder::plan::Plan;
use warpladder::ptx;

/// Why a rung was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The rung does not take this size.
    #[error("{rung} takes {needs}, not {shape}: {advice}")]
    Shape {
        /// Name of the rung.
        rung: &'static str,
        /// What it takes.
        needs: String,
        /// The size that was asked for.
        shape: String,
        /// Which rung or which size would do.
        advice: String,
    },
    /// The problem does not fit.
    #[error(
        "{rung} at {shape} needs {needed} bytes of {whose} memory, {free} are free: use a smaller size"
    )]
    Memory {
        /// Name of the rung.
        rung: &'static str,
        /// The size that was asked for.
        shape: String,
        /// Bytes needed.
        needed: u128,
        /// "device" or "host".
        whose: &'static str,
        /// Bytes free.
        free: u64,
    },
    /// The device is too old.
    #[error("{rung} needs compute capability {needs}, {device} has {has}: run it on the emulator")]
    Capability {
        /// Name of the rung.
        rung: &'static str,
        /// Compute capability needed, times ten.
        needs: u32,
        /// The device's name.
        device: String,
        /// Compute capability there is, times ten.
        has: u32,
    },
    /// The grid would be too large.
    #[error(
        "{rung} at {shape} needs {blocks} blocks in {axis}, a grid has at most {limit}: use a smaller size"
    )]
    Grid {
        /// Name of the rung.
        rung: &'static str,
        /// The size that was asked for.
        shape: String,
        /// Blocks needed.
        blocks: u64,
        /// "x", "y" or "z".
        axis: &'static str,
        /// Most blocks in that direction.
        limit: u64,
    },
    /// The engine failed outside of the kernel.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Refuses a size that the rung does not take.
///
/// # Errors
/// [`RunError::Shape`].
pub fn check_shape(rung: &Rung, shape: Shape) -> Result<(), RunError> {
    if rung.precondition.takes(rung.operation, shape) {
        return Ok(());
    }
    let others = catalogue::rungs().rev().filter(|other| {
        other.operation == rung.operation
            && other.element == rung.element
            && other.precondition == Precondition::Any
            && other.compute_capability().is_some()
    });
    // One that is most like it, if there is any: a kernel alone.
    let is_planned = |other: &&Rung| matches!(other.implementation, Implementation::Planned { .. });
    let alternative = others.min_by_key(is_planned);
    let advice = match alternative {
        Some(other) => format!("use {}, which takes any size", other.name),
        None => "use such a size".to_owned(),
    };
    Err(RunError::Shape {
        rung: rung.name,
        needs: rung.precondition.describe(rung.operation),
        shape: describe(rung.operation, shape),
        advice,
    })
}

/// Refuses what is too large for memory or too new for the device.
///
/// # Errors
/// See [`RunError`].
pub fn preflight(engine: &dyn Engine, rung: &'static Rung, shape: Shape) -> Result<(), RunError> {
    check_shape(rung, shape)?;
    let runs = rung.resolve(shape);
    let on_device = device_bytes(runs, shape);
    if let Some(compute_capability) = runs.compute_capability() {
        if !ptx::module(compute_capability).runs_on(engine.compute_capability()) {
            return Err(RunError::Capability {
                rung: rung.name,
                needs: compute_capability,
                device: engine.device_name().to_owned(),
                has: engine.compute_capability(),
            });
        }
        let free = Some(engine.free_memory()?);
        fits(rung, shape, "device", on_device, free)?;
        let plan = plan(engine, runs, shape, Vec::new())?;
        let needed = on_device + u128::from(plan.workspace_bytes);
        fits(rung, shape, "device", needed, free)?;
    }
    // Inputs and output, the same once more where the device is the host, and a reference in f64.
    let (inputs, output) = runs.operation.elements(shape);
    let on_host = 2 * on_device + (inputs + output) * 8;
    fits(rung, shape, "host", on_host, memory::available())
}

/// The launches of a rung that runs on an engine by itself; `params` are those of the problem.
///
/// # Errors
/// [`RunError::Grid`] where a grid has more blocks than CUDA allows.
pub(super) fn plan(
    engine: &dyn Engine,
    rung: &Rung,
    shape: Shape,
    params: Vec<Param>,
) -> Result<Plan, RunError> {
    let Some(plan) = rung.plan(&request(engine, rung, shape), params) else {
        unreachable!("{} is not launched", rung.name);
    };
    check_grids(rung, shape, &plan)?;
    Ok(plan)
}

/// What a plan for a rung on an engine is made for, operands as they are.
pub fn request(engine: &dyn Engine, rung: &Rung, shape: Shape) -> Request {
    Request {
        operation: rung.operation,
        shape,
        multiprocessors: engine.multiprocessors(),
        compute_capability: engine.compute_capability(),
        transposed: [false; 2],
    }
}

/// Refuses grids with more blocks than CUDA allows.
fn check_grids(rung: &Rung, shape: Shape, plan: &Plan) -> Result<(), RunError> {
    // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    let limits = [i32::MAX as u64, u16::MAX.into(), u16::MAX.into()];
    for launch in &plan.launches {
        for ((blocks, limit), axis) in launch.grid.into_iter().zip(limits).zip(["x", "y", "z"]) {
            if blocks > limit {
                return Err(RunError::Grid {
                    rung: rung.name,
                    shape: describe(rung.operation, shape),
                    blocks,
                    axis,
                    limit,
                });
            }
        }
    }
    Ok(())
}

fn device_bytes(rung: &Rung, shape: Shape) -> u128 {
    let (inputs, output) = rung.operation.elements(shape);
    (inputs + output) * u128::from(rung.element.bytes())
}

fn fits(
    rung: &Rung,
    shape: Shape,
    whose: &'static str,
    needed: u128,
    free: Option<u64>,
) -> Result<(), RunError> {
    match free {
        Some(free) if needed > u128::from(free) => Err(RunError::Memory {
            rung: rung.name,
            shape: describe(rung.operation, shape),
            needed,
            whose,
            free,
        }),
        _ => Ok(()),
    }
}

/// A size in words: `m x n x k` or `m x n`.
pub fn describe(operation: Operation, Shape { m, n, k }: Shape) -> String {
    if operation.uses_k() {
        format!("{m} x {n} x {k}")
    } else {
        format!("{m} x {n}")
    }
}

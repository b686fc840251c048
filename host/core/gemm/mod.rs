//! GEMM, C ← α · op(A) · op(B) + β · C, as launches: which kernel computes one, and
//! with which parameters.
//!
//! A [`Description`] says what is to be computed, [`DeviceLimits`] where. The
//! [planner](kernels_gpu::gemm::planner) chooses a kernel for that. [`plan`] answers with the
//! launches, whose operands are still symbolic; [`Gpu::gemm`](crate::gpu::Gpu::gemm) gives them
//! memory.

mod copied;
mod copies;
mod description;
mod device_limits;
mod error;
pub mod float8;
pub(crate) mod grouped;
mod input;
mod launches;
pub mod layout;
mod operand;
pub mod options;
mod parameters;
#[cfg(test)]
mod tests;
pub mod tuning;

pub use description::Description;
pub use device_limits::DeviceLimits;
pub use error::PlanError;
pub use float8::{E4m3, E5m2, Float8, Float8Format, Float8Operands, Scales};
pub use input::{EightBit, GemmElement, GemmInput, GemmInto, Tf32};
pub use launches::plan_choice;
pub use options::{Activation, BiasAxis, Fusion, Precision, Source};

use crate::device::ComputeCapability;
use crate::plan::Plan;
use copied::Without;
use copies::PACK_KERNELS;
use kernels_gpu::gemm::planner::kernel_set;
use tuning::{Choices, ProblemKey};

/// The oldest generation that runs a GEMM.
pub const PORTABLE: ComputeCapability = ComputeCapability::V7_0;

/// The generation that has asynchronous copies, which the faster kernels need.
pub const COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability::V8_0;

/// The generation that has `wgmma`, and an MMA shape of its own for f64.
pub const HOPPER: ComputeCapability = ComputeCapability::V9_0;

/// The launches of a product on a device, by the plan that was measured for it or that has the
/// least predicted time. Inputs 0 and 1 are A and B.
///
/// # Errors
/// See [`PlanError`].
pub fn plan<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    tuned: &Choices,
) -> Result<Plan, PlanError> {
    description.check()?;
    let description = &description.without_elements_k_major();
    let kernels = description.kernels(device)?;
    let problem = description.problem(device);
    let measured = tuned.get(&ProblemKey::of(description)).and_then(|tuned| {
        let mut candidates = kernels.candidates(&problem);
        candidates.find(|(_, choice)| tuned.is(choice))
    });
    if measured.is_none() {
        match copied::faster_without(description, &problem, device, kernels) {
            Some(Without::InF32(in_f32)) => return plan(&in_f32, device, tuned),
            Some(Without::AsTheyLie(choice)) => {
                return Ok(plan_choice(description, device, &choice));
            }
            None => {}
        }
        if let Some(plan) = copied::plan(description, device, kernels) {
            return Ok(plan);
        }
    }
    let choice = measured.map(|(_, choice)| choice);
    let choice = choice.or_else(|| kernels.plan(&problem));
    let choice = choice.ok_or(PlanError::TooLarge {
        extents: description.extents,
        batch: description.batch,
    })?;
    Ok(plan_choice(description, device, &choice))
}

/// All kernels that a product may be planned with, each with the compute capability of its module.
pub fn entries() -> impl Iterator<Item = (&'static str, ComputeCapability)> {
    let kernels = kernel_set::ALL.iter().flat_map(|kernels| kernels.entries());
    kernels
        .map(|(entry, capability)| (entry, capability.into()))
        .chain(PACK_KERNELS.map(|entry| (entry, HOPPER)))
        .chain(copied::ENTRIES.map(|entry| (entry, COMPUTE_CAPABILITY)))
}

//! What the launches of a rung are planned for.

use crate::problem::{Operation, Shape};
use kernels_gpu::geometry::Geometry;
use warpladder::device::ComputeCapability;
use warpladder::gemm::{DeviceLimits, PlanError};
use warpladder::launch::{Dim3, Param};
use warpladder::plan::{Plan, PlannedLaunch};

/// What a plan is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanRequest {
    /// What to compute.
    pub operation: Operation,
    /// The size.
    pub shape: Shape,
    /// Where: its multiprocessors, and what plans that choose among kernels look at.
    pub device: DeviceLimits,
    /// Whether A and B of a product are stored transposed. Only plans for any layout look at it.
    pub transposed: [bool; 2],
}

impl PlanRequest {
    /// The same on a device of `multiprocessors` multiprocessors.
    pub fn with_multiprocessors(self, multiprocessors: u32) -> Self {
        let DeviceLimits {
            compute_capability,
            generation,
            ..
        } = self.device;
        PlanRequest {
            device: DeviceLimits {
                generation,
                ..DeviceLimits::new(multiprocessors, compute_capability)
            },
            ..self
        }
    }
}

/// What plans the launches of a rung for a request.
///
/// # Errors
/// [`PlanError::TooLarge`] of products whose C has more tiles than a grid takes.
pub type PlanFn = fn(&PlanRequest) -> Result<Plan, PlanError>;

/// One launch of the kernel `entry`, of that geometry, without parameters.
pub(super) fn of_kernel(
    entry: &'static str,
    geometry: Geometry,
    compute_capability: ComputeCapability,
    request: &PlanRequest,
) -> Plan {
    let (rows, columns) = request.operation.extent(request.shape);
    of_launches(vec![PlannedLaunch {
        entry,
        compute_capability,
        grid: geometry.grid(rows, columns, request.device.multiprocessors),
        block: geometry.block().into(),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: Vec::new(),
    }])
}

/// Launches one after the other, without a workspace.
pub(super) fn of_launches(launches: Vec<PlannedLaunch>) -> Plan {
    Plan {
        launches,
        workspace_bytes: 0,
        zeroed_bytes: 0,
    }
}

/// A launch of a kernel of the oldest module, of that geometry, for an output of `columns` elements
/// in one dimension. The geometry is not one whose grid depends on the device.
pub(super) fn linear(
    entry: &'static str,
    geometry: Geometry,
    columns: u64,
    params: Vec<Param>,
) -> PlannedLaunch {
    PlannedLaunch {
        entry,
        compute_capability: ComputeCapability::V7_0,
        grid: geometry.grid(1, columns, 1),
        block: geometry.block().into(),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params,
    }
}

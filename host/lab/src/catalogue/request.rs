//! What the launches of a rung are planned for.

use crate::problem::{Operation, Shape};
use kernels_gpu::geometry::Geometry;
use warpladder::device::ComputeCapability;
use warpladder::launch::Dim3;
use warpladder::plan::{Plan, PlannedLaunch};

/// What a plan is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanRequest {
    /// What to compute.
    pub operation: Operation,
    /// The size.
    pub shape: Shape,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
    /// Compute capability of the device.
    pub compute_capability: ComputeCapability,
    /// Whether A and B of a product are stored transposed. Only plans for any layout look at it.
    pub transposed: [bool; 2],
}

/// One launch of the kernel `entry`, of that geometry, without parameters.
pub(super) fn of_kernel(
    entry: &'static str,
    geometry: Geometry,
    compute_capability: ComputeCapability,
    request: &PlanRequest,
) -> Plan {
    let (rows, columns) = request.operation.extent(request.shape);
    Plan {
        launches: vec![PlannedLaunch {
            entry,
            compute_capability,
            grid: geometry.grid(rows, columns, request.multiprocessors),
            block: geometry.block().into(),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: Vec::new(),
        }],
        workspace_bytes: 0,
        zeroed_bytes: 0,
    }
}

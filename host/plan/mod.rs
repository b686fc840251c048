//! The launches that a rung consists of.
//!
//! Most rungs are one launch of the kernel of their name, whose grid follows from its geometry. A rung that suits itself to
//! the problem, or needs a second kernel to finish what the first began, makes a [`Plan`] of its own. [`Prepared`] is a plan
//! whose kernels are loaded.

mod prepared;

pub use prepared::{Operands, Prepared};

use crate::engine::Dim3;
use crate::problem::{Operation, Param, Shape};
use kernels_gpu::geometry::Geometry;

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What to compute.
    pub operation: Operation,
    /// The size.
    pub shape: Shape,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
    /// Compute capability of the device, times ten.
    pub compute_capability: u32,
    /// Whether A and B of a product are stored transposed. Only plans for any layout look at it.
    pub transposed: [bool; 2],
}

/// Launches, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The launches.
    pub launches: Vec<PlannedLaunch>,
    /// Bytes of device memory that they share: [`Param::Workspace`].
    pub workspace_bytes: u64,
    /// The first of those bytes, as many as are 0 before the launches and again after them.
    pub zeroed_bytes: u64,
}

/// One launch, before there is device memory.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLaunch {
    /// The PTX entry.
    pub entry: &'static str,
    /// Lowest compute capability that runs it, times ten: which PTX module it is in.
    pub compute_capability: u32,
    /// Blocks of the grid in x, y and z; the limits are checked later.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub block: Dim3,
    /// Blocks of a thread block cluster, [`Dim3::ONE`] for none; the limits are checked later.
    pub cluster: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The kernel's parameters.
    pub params: Vec<Param>,
}

impl Plan {
    /// One launch of the kernel `entry`, of that geometry, with the parameters of the problem.
    pub fn of_kernel(
        entry: &'static str,
        geometry: Geometry,
        compute_capability: u32,
        request: &Request,
        params: Vec<Param>,
    ) -> Self {
        let (rows, columns) = request.operation.extent(request.shape);
        Plan {
            launches: vec![PlannedLaunch {
                entry,
                compute_capability,
                grid: geometry.grid(rows, columns, request.multiprocessors),
                block: geometry.block().into(),
                cluster: Dim3::ONE,
                shared_bytes: 0,
                params,
            }],
            workspace_bytes: 0,
            zeroed_bytes: 0,
        }
    }
}

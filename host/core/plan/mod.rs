//! Launches that are planned: a [`Plan`] names kernels, grids and parameters; [`Prepared`] is a
//! plan whose kernels are loaded.

mod prepared;

pub use prepared::{Operands, Prepared};

use crate::device::ComputeCapability;
use crate::launch::Dim3;
use crate::launch::Param;
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
    /// Lowest compute capability that runs it: which PTX module it is in.
    pub compute_capability: ComputeCapability,
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

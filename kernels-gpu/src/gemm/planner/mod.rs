//! The planner: which kernel computes a GEMM, with which tile and decomposition.
//!
//! Each candidate is given the time that it should take by a model of the device, in clocks of an
//! SM, and the one with the least is chosen. [`tiles`] plans the SIMT, `mma.sync` and GEMV kernels
//! by `cost.rs`, and [`wgmma`] the kernels of warpgroups, which are persistent.

mod cost;
pub mod kernel_set;
pub mod tiles;
pub mod wgmma;

/// A GEMM to plan, and the device that computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmProblem {
    /// m, n and k; m and n at least 1.
    pub extents: [u32; 3],
    /// Whether A and B are stored transposed.
    pub transposed: [bool; 2],
    /// Whether the rows of A and B, as they are stored, start at multiples of 16 bytes; of an
    /// MN-major operand, whether they are of whole vectors of 16 bytes as well.
    pub vectors: [bool; 2],
    /// GEMMs in the batch.
    pub batch: u32,
    /// SMs of the device.
    pub multiprocessors: u32,
    /// The most dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

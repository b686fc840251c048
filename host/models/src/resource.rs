//! What can bound a kernel.

use std::fmt;

/// What bounds an execution: a resource that work uses up, or a wait that no resource explains.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Issue slots of the warp schedulers.
    Issue,
    /// Dispatch of several instruction classes that do not overlap (source 002, Q).
    Dispatch,
    /// f32 units.
    Fp32,
    /// f64 units.
    Fp64,
    /// f16 and bf16 units, tensor cores not among them.
    Half,
    /// Tensor cores.
    Tensor,
    /// Integer units.
    Integer,
    /// Units for square roots, reciprocals and the like.
    Special,
    /// Conversions between types.
    Conversion,
    /// Load and store units.
    LoadStore,
    /// Bandwidth of shared memory.
    Shared,
    /// Data path of the L1 caches, which shared memory is a part of.
    L1,
    /// Bandwidth of the constant caches.
    Constant,
    /// Bandwidth between the multiprocessors and the L2 cache.
    L2,
    /// Bandwidth of device memory.
    Dram,
    /// How fast blocks start.
    Blocks,
    /// Too few threads to hide the latency of each.
    Latency,
    /// Too few blocks for one to compute while another loads: barriers keep a block's phases apart.
    Barriers,
    /// Atomics, which a unit does one after the other where they go to one word.
    Atomics,
}

impl Bound {
    /// Whether it is a bandwidth that all multiprocessors share.
    pub const fn is_memory(self) -> bool {
        matches!(self, Bound::L2 | Bound::Dram)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Issue => "instruction issue",
            Bound::Dispatch => "instruction dispatch",
            Bound::Fp32 => "f32 units",
            Bound::Fp64 => "f64 units",
            Bound::Half => "f16 units",
            Bound::Tensor => "tensor cores",
            Bound::Integer => "integer units",
            Bound::Special => "special function units",
            Bound::Conversion => "conversion units",
            Bound::LoadStore => "load and store units",
            Bound::Shared => "shared memory bandwidth",
            Bound::L1 => "L1 bandwidth",
            Bound::Constant => "constant cache",
            Bound::L2 => "L2 bandwidth",
            Bound::Dram => "DRAM bandwidth",
            Bound::Blocks => "starts of blocks",
            Bound::Latency => "latency",
            Bound::Barriers => "barriers",
            Bound::Atomics => "atomics",
        })
    }
}

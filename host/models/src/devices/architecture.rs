//! What GPUs of one compute capability share.

use crate::bank_conflicts::Banks;
use crate::figure::Figure;
use crate::occupancy::{Allocation, Limits};

/// A compute capability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Architecture {
    /// As the name of its target has it: 90 for `sm_90`.
    pub compute_capability: u32,
    /// What a multiprocessor and a block can have.
    pub limits: Figure<Limits>,
    /// In which portions it is handed out.
    pub allocation: Figure<Allocation>,
    /// Units of a multiprocessor.
    pub lanes: Option<Figure<Lanes>>,
    /// f64 multiply-adds of a multiprocessor's tensor cores in a cycle.
    pub tensor_fp64: Option<Figure<u32>>,
    /// Load and store units of a multiprocessor.
    pub load_store: Option<Figure<u32>>,
    /// Warp instructions that a multiprocessor's schedulers issue in a cycle.
    pub issue: Option<Figure<f64>>,
    /// Banks of shared memory.
    pub banks: Figure<Banks>,
    /// What a multiprocessor reads from its L1 cache in a cycle, in bytes.
    pub l1_bytes_per_cycle: Option<Figure<f64>>,
}

/// Units of a multiprocessor by what they do: results per cycle. `None`: not in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Lanes {
    /// f32 additions, multiplications, multiply-adds.
    pub fp32: u32,
    /// The same in f64.
    pub fp64: u32,
    /// The same in f16, tensor cores not among them.
    pub half: Option<u32>,
    /// i32 additions.
    pub integer: Option<u32>,
    /// Reciprocals, square roots, sines.
    pub special: Option<u32>,
    /// Conversions between f32 and integers.
    pub conversion: Option<u32>,
}

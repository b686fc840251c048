//! The kernels of each element type that the planner chooses among.

use super::cost::{F32_MODELS, F64_MODELS, Model};
use crate::gemm::mma::{dgemm, dgemm_sm_90a};
use crate::gemm::partial_sums_pitch;
use crate::gemm::reduction::split_k;
use crate::gemm::simt::{portable, sgemm};
use crate::gemm::tile_config::TileConfig;

/// The kernels for one element type.
#[derive(Clone, Copy, Debug)]
pub struct KernelSet {
    /// The tile configurations.
    pub tiles: &'static [TileConfig],
    /// The GEMV kernels, where there are any: GEMV N of 1 and of 4 rows, GEMV T of 1 and of 4, each
    /// with the blocks that fit on an SM of the largest GPUs.
    pub gemv_kernels: Option<[(&'static str, u64); 4]>,
    /// The split-K reduction kernel.
    pub reduce: &'static str,
    /// Bytes of an accumulator. C has as many, or 2.
    pub element_bytes: u32,
    /// What the model knows of the tile sizes; the last entry is for those that are not listed.
    pub(super) models: &'static [Model],
}

/// f32, from compute capability 8.0 on.
pub const SGEMM: KernelSet = KernelSet {
    tiles: sgemm::INSTANCES,
    gemv_kernels: Some([
        ("sgemv_n_1", 4),
        ("sgemv_n_4", 2),
        ("sgemv_t_1", 3),
        ("sgemv_t_4", 2),
    ]),
    reduce: "sgemm_reduce",
    element_bytes: 4,
    models: F32_MODELS,
};

/// f64, from compute capability 8.0 on.
pub const DGEMM: KernelSet = KernelSet {
    tiles: dgemm::INSTANCES,
    gemv_kernels: Some([
        ("dgemv_n_1", 3),
        ("dgemv_n_4", 1),
        ("dgemv_t_1", 2),
        ("dgemv_t_4", 1),
    ]),
    reduce: "dgemm_reduce",
    element_bytes: 8,
    models: F64_MODELS,
};

/// f64 on compute capability 9.0, whose tensor cores have an MMA shape of their own. Its tiled
/// kernels are in the module of `sm_90a`.
pub const DGEMM_90: KernelSet = KernelSet {
    tiles: dgemm_sm_90a::INSTANCES,
    ..DGEMM
};

/// f32 on any generation.
pub const SGEMM_PORTABLE: KernelSet = KernelSet {
    tiles: portable::OF_F32,
    ..SGEMM
};

/// f64 on any generation.
pub const DGEMM_PORTABLE: KernelSet = KernelSet {
    tiles: portable::OF_F64,
    ..DGEMM
};

/// f16, with accumulators and C of f32, on any generation.
pub const OF_F16: KernelSet = KernelSet {
    tiles: portable::OF_F16,
    gemv_kernels: None,
    ..SGEMM
};

/// bf16, with accumulators and C of f32, on any generation.
pub const OF_BF16: KernelSet = KernelSet {
    tiles: portable::OF_BF16,
    ..OF_F16
};

/// f16, with a C of f16.
pub const OF_F16_TO_F16: KernelSet = KernelSet {
    tiles: portable::OF_F16_TO_F16,
    reduce: "gemm_reduce_to_f16",
    ..OF_F16
};

/// bf16, with a C of bf16.
pub const OF_BF16_TO_BF16: KernelSet = KernelSet {
    tiles: portable::OF_BF16_TO_BF16,
    reduce: "gemm_reduce_to_bf16",
    ..OF_F16
};

impl KernelSet {
    /// The entries that any generation runs.
    pub fn portable_entries(&self) -> impl Iterator<Item = &'static str> {
        let gemv = self.gemv_kernels.into_iter().flatten();
        gemv.map(|(entry, _)| entry).chain([self.reduce])
    }

    /// The grid, and the threads of a block in x and y, of the reduction kernel for `splits` splits
    /// of C of m × n.
    pub fn reduce_launch(
        &self,
        [m, n, _]: [u32; 3],
        batch: u32,
        splits: u32,
    ) -> ([u64; 3], [u32; 2]) {
        let vectors = u64::from(m) * (partial_sums_pitch(n) / split_k::VECTOR) as u64;
        let mut groups = 1;
        while groups < split_k::MAX_GROUPS as u32
            && 2 * groups <= splits
            && vectors * u64::from(batch * groups) < REDUCTION_THREADS
        {
            groups *= 2;
        }
        let width = split_k::THREADS as u32 / groups;
        (
            [vectors.div_ceil(u64::from(width)), 1, u64::from(batch)],
            [width, groups],
        )
    }
}

/// The least threads of the reduction kernel, where there are splits enough: half of what a large
/// GPU holds.
const REDUCTION_THREADS: u64 = 1 << 17;

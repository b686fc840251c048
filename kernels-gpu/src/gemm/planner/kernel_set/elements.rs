//! The kernels of each element type.

use super::{HOPPER, KernelSet, PORTABLE};
use crate::gemm::mma::{dgemm, dgemm_sm_90a, gemm, gemm_sm_90a, integer};
use crate::gemm::planner::cost::{self, TileCost};
use crate::gemm::scheduler::persistent::ReductionMode;
use crate::gemm::simt::{gemv, portable, sgemm, sgemm_sm_90a};
use crate::gemm::tile_config::TileConfig;
use crate::gemm::wgmma::{float8, grouped, integer as integer_90, kernels};

/// f32, from compute capability 8.0 on.
pub const SGEMM: KernelSet = KernelSet {
    tiles: sgemm::INSTANCES,
    persistent_tiles: &[],
    grouped: None,
    as_they_lie: None,
    compute_capability: 80,
    gemv_short_side: gemv::MAX_SHORT_SIDE as u32,
    gemv_kernels: Some([
        ("sgemv_n_1", 4),
        ("sgemv_n_4", 2),
        ("sgemv_t_1", 3),
        ("sgemv_t_4", 2),
    ]),
    reduce: ("sgemm_reduce", PORTABLE),
    input_bytes: 4,
    element_bytes: 4,
    takes_fusion: false,
    persistent_takes_fusion: false,
    whole_k_tiles: false,
    elements: cost::ELEMENTS_F32,
    elements_alone: cost::K_MAJOR_ALONE_F32,
    launch: cost::GRID_F32,
    reductions: &[
        ReductionMode::LastBlock,
        ReductionMode::Cluster,
        ReductionMode::Kernel,
    ],
    splits_operands: false,
    l2: cost::L2Cost::FREE,
    costs: cost::F32,
    unaligned_costs: &[],
    persistent_costs: &[],
};

/// f32 on compute capability 9.0, where launches overlap. Its tiled kernels are in the module of
/// `sm_90a`.
pub const SGEMM_90: KernelSet = KernelSet {
    tiles: sgemm_sm_90a::INSTANCES,
    compute_capability: HOPPER,
    reduce: ("sgemm_90_reduce", HOPPER),
    ..SGEMM
};

/// f64, from compute capability 8.0 on.
pub const DGEMM: KernelSet = KernelSet {
    tiles: dgemm::INSTANCES,
    compute_capability: 80,
    // With several rows or columns, tensor cores were faster for each of 14 products of f64.
    gemv_short_side: 1,
    gemv_kernels: Some([
        ("dgemv_n_1", 3),
        ("dgemv_n_4", 1),
        ("dgemv_t_1", 2),
        ("dgemv_t_4", 1),
    ]),
    reduce: ("dgemm_reduce", PORTABLE),
    input_bytes: 8,
    element_bytes: 8,
    elements: cost::ELEMENTS_F64,
    elements_alone: 0.0,
    launch: cost::GRID_F64,
    costs: cost::F64,
    ..SGEMM
};

/// f64 on compute capability 9.0, whose tensor cores have an MMA shape of their own, and where
/// launches overlap. Its tiled kernels are in the module of `sm_90a`.
pub const DGEMM_90: KernelSet = KernelSet {
    tiles: dgemm_sm_90a::INSTANCES,
    compute_capability: HOPPER,
    reduce: ("dgemm_90_reduce", HOPPER),
    ..DGEMM
};

/// f32 on any generation.
pub const SGEMM_PORTABLE: KernelSet = KernelSet {
    tiles: portable::OF_F32,
    compute_capability: 70,
    ..SGEMM
};

/// f64 on any generation.
pub const DGEMM_PORTABLE: KernelSet = KernelSet {
    tiles: portable::OF_F64,
    compute_capability: 70,
    gemv_short_side: SGEMM.gemv_short_side,
    ..DGEMM
};

/// f16, with accumulators and C of f32, on any generation.
pub const OF_F16: KernelSet = portable_16_bits(portable::OF_F16, SGEMM.reduce);

/// bf16, with accumulators and C of f32, on any generation.
pub const OF_BF16: KernelSet = portable_16_bits(portable::OF_BF16, SGEMM.reduce);

/// f16, with a C of f16.
pub const OF_F16_TO_F16: KernelSet =
    portable_16_bits(portable::OF_F16_TO_F16, ("gemm_reduce_to_f16", PORTABLE));

/// bf16, with a C of bf16.
pub const OF_BF16_TO_BF16: KernelSet =
    portable_16_bits(portable::OF_BF16_TO_BF16, ("gemm_reduce_to_bf16", PORTABLE));

/// f16 on tensor cores by `mma.sync`, with accumulators and C of f32.
pub const OF_F16_80: KernelSet = by_warps_16(gemm::OF_F16, SGEMM.reduce);

/// bf16 by `mma.sync`, with accumulators and C of f32.
pub const OF_BF16_80: KernelSet = by_warps_16(gemm::OF_BF16, SGEMM.reduce);

/// f16 by `mma.sync`, with a C of f16.
pub const OF_F16_TO_F16_80: KernelSet = by_warps_16(gemm::OF_F16, OF_F16_TO_F16.reduce);

/// bf16 by `mma.sync`, with a C of bf16.
pub const OF_BF16_TO_BF16_80: KernelSet = by_warps_16(gemm::OF_BF16, OF_BF16_TO_BF16.reduce);

/// TF32 by `mma.sync`, with a C of f32.
pub const OF_TF32_80: KernelSet = KernelSet {
    unaligned_costs: cost::UNALIGNED_TF32,
    ..by_warps(gemm::OF_TF32, SGEMM.reduce, cost::MMA_TF32)
};

/// f32 in terms of bf16 by `mma.sync`.
pub const OF_F32_SPLIT_80: KernelSet = KernelSet {
    unaligned_costs: cost::UNALIGNED_F32_SPLIT,
    ..by_warps(gemm::OF_F32_SPLIT, SGEMM.reduce, cost::MMA_F32_SPLIT)
};

/// f16 on compute capability 9.0, as operands lie, with accumulators and C of f32.
const OF_F16_AS_IT_LIES: KernelSet = overlapping(OF_F16_80, gemm_sm_90a::OF_F16, SGEMM_90.reduce);

/// bf16 in the same way.
const OF_BF16_AS_IT_LIES: KernelSet =
    overlapping(OF_BF16_80, gemm_sm_90a::OF_BF16, SGEMM_90.reduce);

/// f16 in the same way, with a C of f16.
const OF_F16_TO_F16_AS_IT_LIES: KernelSet = overlapping(
    OF_F16_80,
    gemm_sm_90a::OF_F16,
    ("gemm_90_reduce_to_f16", HOPPER),
);

/// bf16 in the same way, with a C of bf16.
const OF_BF16_TO_BF16_AS_IT_LIES: KernelSet = overlapping(
    OF_BF16_80,
    gemm_sm_90a::OF_BF16,
    ("gemm_90_reduce_to_bf16", HOPPER),
);

/// TF32 in the same way, with a C of f32.
const OF_TF32_AS_IT_LIES: KernelSet =
    overlapping(OF_TF32_80, gemm_sm_90a::OF_TF32, SGEMM_90.reduce);

/// i8 by `mma.sync`, with accumulators of i32, and any type of C.
pub const OF_I8_80: KernelSet = KernelSet {
    takes_fusion: false,
    input_bytes: 1,
    unaligned_costs: cost::UNALIGNED_8,
    reductions: &[ReductionMode::LastBlock],
    ..by_warps(integer::OF_I8, NO_REDUCTION, cost::MMA_I8)
};

/// f16 by warpgroups, with accumulators and C of f32.
pub const OF_F16_90: KernelSet = KernelSet {
    grouped: Some(&grouped::OF_F16),
    as_they_lie: Some(&OF_F16_AS_IT_LIES),
    ..fusing(by_warpgroups(kernels::OF_F16, "add_parts_f32"))
};

/// bf16 by warpgroups, with accumulators and C of f32.
pub const OF_BF16_90: KernelSet = KernelSet {
    grouped: Some(&grouped::OF_BF16),
    as_they_lie: Some(&OF_BF16_AS_IT_LIES),
    ..fusing(by_warpgroups(kernels::OF_BF16, "add_parts_f32"))
};

/// f16 by warpgroups, with a C of f16.
pub const OF_F16_TO_F16_90: KernelSet = KernelSet {
    grouped: Some(&grouped::OF_F16),
    as_they_lie: Some(&OF_F16_TO_F16_AS_IT_LIES),
    ..fusing(by_warpgroups(kernels::OF_F16_TO_F16, "add_parts_f16"))
};

/// bf16 by warpgroups, with a C of bf16.
pub const OF_BF16_TO_BF16_90: KernelSet = KernelSet {
    grouped: Some(&grouped::OF_BF16),
    as_they_lie: Some(&OF_BF16_TO_BF16_AS_IT_LIES),
    ..fusing(by_warpgroups(kernels::OF_BF16_TO_BF16, "add_parts_bf16"))
};

/// TF32 by warpgroups, with a C of f32. B is K-major.
pub const OF_TF32_90: KernelSet = KernelSet {
    as_they_lie: Some(&OF_TF32_AS_IT_LIES),
    ..by_warpgroups(kernels::OF_TF32, "add_parts_f32")
};

/// i8 by warpgroups, with accumulators of i32, and a C of i32 or f32.
pub const OF_I8_90: KernelSet = KernelSet {
    reductions: &[ReductionMode::LastBlock],
    ..of_8_bits(&[integer_90::OF_I8])
};

/// i8 by warpgroups, with a C of 16 bits.
pub const OF_I8_TO_16_BITS_90: KernelSet = KernelSet {
    persistent_tiles: &[integer_90::OF_I8_TO_16_BITS],
    ..OF_I8_90
};

/// 8-bit floats by warpgroups, with a C of f32.
pub const OF_FP8_90: KernelSet = of_8_bits(&[float8::OF_FP8_WIDE, float8::OF_FP8]);

/// The same with scales of blocks.
pub const OF_FP8_BLOCKS_90: KernelSet = of_8_bits(&[float8::OF_FP8]);

/// The same with fast accumulation.
pub const OF_FP8_FAST_90: KernelSet = KernelSet {
    persistent_tiles: &[float8::OF_FP8_FAST, float8::OF_FP8_WIDE, float8::OF_FP8],
    ..OF_FP8_90
};

/// 8-bit floats by warpgroups, with a C of 16 bits.
pub const OF_FP8_TO_16_BITS_90: KernelSet = KernelSet {
    persistent_tiles: &[float8::OF_FP8_WIDE_TO_16_BITS, float8::OF_FP8_TO_16_BITS],
    ..OF_FP8_90
};

/// The same with scales of blocks.
pub const OF_FP8_BLOCKS_TO_16_BITS_90: KernelSet = KernelSet {
    persistent_tiles: &[float8::OF_FP8_TO_16_BITS],
    ..OF_FP8_90
};

/// The same with fast accumulation.
pub const OF_FP8_FAST_TO_16_BITS_90: KernelSet = KernelSet {
    persistent_tiles: &[
        float8::OF_FP8_FAST_TO_16_BITS,
        float8::OF_FP8_WIDE_TO_16_BITS,
        float8::OF_FP8_TO_16_BITS,
    ],
    ..OF_FP8_FAST_90
};

/// f32 in terms of bf16 by warpgroups, and by `mma.sync` where products are small.
pub const OF_F32_SPLIT_90: KernelSet = KernelSet {
    persistent_tiles: kernels::OF_F32_SPLIT,
    splits_operands: true,
    persistent_costs: cost::WGMMA_F32_SPLIT,
    ..OF_F32_SPLIT_80
};

/// Kernels for 16-bit elements on any generation.
const fn portable_16_bits(tiles: &'static [TileConfig], reduce: (&'static str, u32)) -> KernelSet {
    KernelSet {
        tiles,
        gemv_kernels: None,
        reduce,
        input_bytes: 2,
        launch: cost::GRID,
        ..SGEMM_PORTABLE
    }
}

/// Kernels of `mma.sync` with accumulators of f32, from compute capability 8.0 on.
const fn by_warps(
    tiles: &'static [TileConfig],
    reduce: (&'static str, u32),
    costs: &'static [TileCost],
) -> KernelSet {
    KernelSet {
        compute_capability: 80,
        input_bytes: 4,
        takes_fusion: true,
        whole_k_tiles: true,
        launch: cost::GRID_MMA,
        costs,
        ..portable_16_bits(tiles, reduce)
    }
}

/// The same of elements of 16 bits.
const fn by_warps_16(tiles: &'static [TileConfig], reduce: (&'static str, u32)) -> KernelSet {
    KernelSet {
        input_bytes: 2,
        unaligned_costs: cost::UNALIGNED_16,
        ..by_warps(tiles, reduce, cost::MMA_16)
    }
}

/// Kernels of `mma.sync` whose launches overlap, in the module of `sm_90a`.
const fn overlapping(
    kernels: KernelSet,
    tiles: &'static [TileConfig],
    reduce: (&'static str, u32),
) -> KernelSet {
    KernelSet {
        tiles,
        compute_capability: HOPPER,
        reduce,
        launch: cost::GRID_MMA_90,
        ..kernels
    }
}

/// Kernels of warpgroups, on compute capability 9.0.
const fn by_warpgroups(
    persistent_tiles: &'static [&'static [TileConfig]],
    reduce: &'static str,
) -> KernelSet {
    KernelSet {
        persistent_tiles,
        compute_capability: 90,
        l2: cost::L2,
        persistent_costs: cost::WGMMA,
        ..portable_16_bits(&[], (reduce, HOPPER))
    }
}

/// Persistent kernels that take a fused operator.
const fn fusing(kernels: KernelSet) -> KernelSet {
    KernelSet {
        persistent_takes_fusion: true,
        ..kernels
    }
}

/// Kernels of warpgroups for elements of 8 bits.
const fn of_8_bits(persistent_tiles: &'static [&'static [TileConfig]]) -> KernelSet {
    KernelSet {
        reductions: &[ReductionMode::LastBlock, ReductionMode::Cluster],
        l2: cost::L2_8,
        persistent_costs: cost::WGMMA_8,
        ..by_warpgroups(persistent_tiles, "")
    }
}

/// All of them.
pub const ALL: &[KernelSet] = &[
    SGEMM,
    SGEMM_90,
    DGEMM,
    DGEMM_90,
    SGEMM_PORTABLE,
    DGEMM_PORTABLE,
    OF_F16,
    OF_BF16,
    OF_F16_TO_F16,
    OF_BF16_TO_BF16,
    OF_F16_80,
    OF_BF16_80,
    OF_F16_TO_F16_80,
    OF_BF16_TO_BF16_80,
    OF_TF32_80,
    OF_F32_SPLIT_80,
    OF_I8_80,
    OF_F16_90,
    OF_BF16_90,
    OF_F16_TO_F16_90,
    OF_BF16_TO_BF16_90,
    OF_TF32_90,
    OF_F32_SPLIT_90,
    OF_I8_90,
    OF_I8_TO_16_BITS_90,
    OF_FP8_90,
    OF_FP8_TO_16_BITS_90,
    OF_FP8_FAST_90,
    OF_FP8_FAST_TO_16_BITS_90,
];

/// Where there is no reduction kernel.
const NO_REDUCTION: (&str, u32) = ("", PORTABLE);

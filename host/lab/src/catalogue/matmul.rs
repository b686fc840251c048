//! The matrix products.

use super::PlanFn;
use super::Precondition::{self, Any, Multiples};
use super::{Family, Implementation, Rung, gemm, wgmma};
use crate::cpu::{self, CpuProduct};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::history::volkov_sgemm;
use kernels_gpu::history::wolfe::{
    wolfe_k1, wolfe_k2, wolfe_k3, wolfe_k4, wolfe_k4_guarded, wolfe_k5,
};
use kernels_gpu::ladder::matmul::{
    cp_async, double_buffered, mma, naive, naive_uncoalesced, outputs, outputs_8x8,
    outputs_8x8_vec4, register_blocked, tiled, tiled_guarded,
};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType::{self, Bf16, F16, F32, F64};
use warpladder::element::TensorInput;

const fn rung(
    name: &'static str,
    source: &'static str,
    operation: Operation,
    precondition: Precondition,
    implementation: Implementation,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Matmul,
        source,
        summary,
        element: F32,
        operation,
        precondition,
        implementation,
    }
}

const fn kernel(geometry: Geometry) -> Implementation {
    Implementation::Kernel {
        geometry,
        compute_capability: ComputeCapability::V7_0,
    }
}

/// A kernel for row-major matrices.
const fn product(
    name: &'static str,
    element: ElementType,
    source: &'static str,
    geometry: Geometry,
    precondition: Precondition,
    summary: &'static str,
) -> Rung {
    Rung {
        element,
        ..rung(
            name,
            source,
            Operation::Product,
            precondition,
            kernel(geometry),
            summary,
        )
    }
}

/// A kernel of Wolfe's series: column-major with leading dimensions, multiples of m, n and k.
const fn wolfe(
    name: &'static str,
    geometry: Geometry,
    [m, n, k]: [u32; 3],
    summary: &'static str,
) -> Rung {
    let operation = Operation::ColumnMajorProduct;
    rung(
        name,
        "004",
        operation,
        Multiples { m, n, k },
        kernel(geometry),
        summary,
    )
}

/// A kernel for tensor cores.
const fn tensor(
    name: &'static str,
    input: TensorInput,
    compute_capability: ComputeCapability,
    geometry: Geometry,
    precondition: Precondition,
    summary: &'static str,
) -> Rung {
    rung(
        name,
        "-",
        Operation::TensorProduct(input),
        precondition,
        Implementation::Kernel {
            geometry,
            compute_capability,
        },
        summary,
    )
}

/// A product by warpgroups.
const fn warpgroups(
    name: &'static str,
    input: TensorInput,
    precondition: Precondition,
    plan: PlanFn,
    summary: &'static str,
) -> Rung {
    rung(
        name,
        "-",
        Operation::TensorProduct(input),
        precondition,
        Implementation::Planned {
            plan,
            compute_capability: wgmma::COMPUTE_CAPABILITY,
            any_layout: false,
        },
        summary,
    )
}

/// A product by warpgroups of any size and layout.
const fn any_warpgroups(
    name: &'static str,
    input: TensorInput,
    plan: PlanFn,
    summary: &'static str,
) -> Rung {
    Rung {
        implementation: Implementation::Planned {
            plan,
            compute_capability: wgmma::COMPUTE_CAPABILITY,
            any_layout: true,
        },
        ..warpgroups(name, input, Any, plan, summary)
    }
}

/// The same with a 16-bit output: C has the type of A and B.
const fn sixteen_bit_output(
    name: &'static str,
    element: ElementType,
    input: TensorInput,
    plan: PlanFn,
    summary: &'static str,
) -> Rung {
    Rung {
        element,
        operation: Operation::TensorProduct16(input),
        ..any_warpgroups(name, input, plan, summary)
    }
}

/// A product whose kernel is chosen by its size, for compute capability 8.0.
const fn general(
    name: &'static str,
    element: ElementType,
    plan: PlanFn,
    summary: &'static str,
) -> Rung {
    let implementation = Implementation::Planned {
        plan,
        compute_capability: gemm::COMPUTE_CAPABILITY,
        any_layout: true,
    };
    Rung {
        element,
        ..rung(name, "-", Operation::Product, Any, implementation, summary)
    }
}

/// The same of what tensor cores take, with a C of f32.
const fn general_mma(
    name: &'static str,
    input: TensorInput,
    plan: PlanFn,
    summary: &'static str,
) -> Rung {
    Rung {
        operation: Operation::TensorProduct(input),
        ..general(name, F32, plan, summary)
    }
}

/// The same with a C of the 16-bit type of A and B.
const fn general_mma_16(
    name: &'static str,
    element: ElementType,
    input: TensorInput,
    plan: PlanFn,
    summary: &'static str,
) -> Rung {
    Rung {
        operation: Operation::TensorProduct16(input),
        ..general(name, element, plan, summary)
    }
}

/// A product on the host.
const fn on_cpu(
    name: &'static str,
    source: &'static str,
    run: CpuProduct,
    summary: &'static str,
) -> Rung {
    rung(
        name,
        source,
        Operation::Product,
        Any,
        Implementation::Cpu(run),
        summary,
    )
}

const fn exact(multiple: u32) -> Precondition {
    Precondition::multiples_of(multiple)
}

/// Rows of 16-bit elements that begin at multiples of 16 bytes.
const ROWS_OF_16_BYTES: Precondition = Multiples {
    m: 1,
    n: wgmma::ROW_MULTIPLE,
    k: wgmma::ROW_MULTIPLE,
};

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    on_cpu("cpu_strided", "004", cpu::strided,
        "CPU, loops in the worst order: no access is stride 1"),
    on_cpu("cpu_naive", "004", cpu::naive, "CPU, three loops with a stride-1 inner one"),
    on_cpu("cpu_blocked", "004", cpu::blocked, "CPU, blocked for the caches"),
    on_cpu("cpu_blocked_parallel", "004", cpu::blocked_parallel, "CPU, blocked, on all cores"),
    on_cpu("cpu_nalgebra", "-", cpu::nalgebra, "CPU, nalgebra's own product"),

    product("naive_uncoalesced", F32, "000, 004", naive_uncoalesced::GEOMETRY, Any,
        "one thread per element, x along the rows: uncoalesced"),
    product("naive", F32, "001, 000", naive::GEOMETRY, Any,
        "one thread per element, x along the columns"),
    product("tiled_16", F32, "001, 000", tiled::GEOMETRY_16, exact(16),
        "16 x 16 tiles in shared memory, exact multiples"),
    product("tiled_32", F32, "001, 000", tiled::GEOMETRY_32, exact(32),
        "32 x 32 tiles in shared memory, exact multiples"),
    product("tiled_guarded_16", F32, "001, 004", tiled_guarded::GEOMETRY_16, Any,
        "16 x 16 tiles, zero-filled at the edges: any size"),
    product("tiled_guarded_32", F32, "001, 004", tiled_guarded::GEOMETRY_32, Any,
        "32 x 32 tiles, zero-filled at the edges: any size"),
    product("outputs_1", F32, "000", outputs::geometry(1), exact(32),
        "32 x 32 tiles, 1 output per thread"),
    product("outputs_2", F32, "000", outputs::geometry(2), exact(32),
        "32 x 32 tiles, 2 outputs per thread"),
    product("outputs_4", F32, "000", outputs::geometry(4), exact(32),
        "32 x 32 tiles, 4 outputs per thread"),
    product("outputs_8", F32, "000", outputs::geometry(8), exact(32),
        "32 x 32 tiles, 8 outputs per thread"),
    product("outputs_8x8", F32, "-", outputs_8x8::GEOMETRY, Multiples { m: 128, n: 128, k: 8 },
        "128 x 128 tiles, 8 x 8 outputs per thread"),
    product("outputs_8x8_vec4", F32, "-", outputs_8x8_vec4::GEOMETRY, Multiples { m: 128, n: 128,
        k: 8 },
        "outputs_8x8 with 128-bit accesses, A's tile transposed"),
    product("register_blocked", F32, "000", register_blocked::GEOMETRY, Multiples { m: 128, n: 128,
        k: 8 },
        "8 x 8 outputs per thread, vector accesses without bank conflicts"),
    product("double_buffered", F32, "-", double_buffered::GEOMETRY, Multiples { m: 128, n: 128,
        k: 8 },
        "register_blocked with two stages of shared memory"),
    Rung {
        implementation: Implementation::Kernel { geometry: cp_async::GEOMETRY,
            compute_capability: ComputeCapability::V8_0 },
        ..product("cp_async", F32, "-", cp_async::GEOMETRY, Multiples { m: 128, n: 128, k: 8 },
            "double_buffered with asynchronous copies into four stages")
    },
    general("sgemm", F32, gemm::sgemm,
        "8 x 16 outputs per thread, a pipeline of stages; any size, k split where tiles are few"),
    general("gemm_f32_split", F32, gemm::f32_split,
        "f32 as three bf16 terms on tensor cores, at the accuracy of f32; any size"),

    product("naive_uncoalesced_f64", F64, "000", naive_uncoalesced::GEOMETRY, Any,
        "naive_uncoalesced in double precision"),
    product("naive_f64", F64, "000", naive::GEOMETRY, Any, "naive in double precision"),
    product("tiled_16_f64", F64, "000", tiled::GEOMETRY_16, exact(16),
        "tiled_16 in double precision"),
    product("tiled_32_f64", F64, "000", tiled::GEOMETRY_32, exact(32),
        "tiled_32 in double precision"),
    general("dgemm", F64, gemm::dgemm, "sgemm in double precision, on tensor cores"),

    tensor("mma_f16", TensorInput::F16, ComputeCapability::V8_0, mma::GEOMETRY,
        Multiples { m: 1, n: 8, k: 8 },
        "tensor cores: f16 in, f32 out; asynchronous copies"),
    tensor("mma_bf16", TensorInput::Bf16, ComputeCapability::V8_0, mma::GEOMETRY,
        Multiples { m: 1, n: 8, k: 8 },
        "tensor cores: bf16 in, f32 out"),
    tensor("mma_tf32", TensorInput::Tf32, ComputeCapability::V8_0, mma::GEOMETRY,
        Multiples { m: 1, n: 4, k: 4 },
        "tensor cores: f32 rounded to TF32 in, f32 out"),
    general_mma("gemm_mma_f16", TensorInput::F16, gemm::mma_f16,
        "mma_f16 for any size and layout, with a planned tile size and split of k"),
    general_mma("gemm_mma_bf16", TensorInput::Bf16, gemm::mma_bf16,
        "gemm_mma_f16 with bf16 inputs"),
    general_mma("gemm_mma_tf32", TensorInput::Tf32, gemm::mma_tf32,
        "gemm_mma_f16 with f32 inputs rounded to TF32"),
    general_mma("gemm_mma_i8", TensorInput::I8, gemm::mma_i8,
        "gemm_mma_f16 with 8-bit integers in, and sums of i32"),
    general_mma_16("gemm_mma_f16_narrow", F16, TensorInput::F16, gemm::mma_f16,
        "gemm_mma_f16 with a 16-bit output"),
    general_mma_16("gemm_mma_bf16_narrow", Bf16, TensorInput::Bf16, gemm::mma_bf16,
        "gemm_mma_bf16 with a 16-bit output"),
    warpgroups("wgmma_bf16_single", TensorInput::Bf16, ROWS_OF_16_BYTES, wgmma::single,
        "a warpgroup multiplies from shared memory, filled by bulk copies"),
    warpgroups("wgmma_bf16_specialised", TensorInput::Bf16, ROWS_OF_16_BYTES, wgmma::specialised,
        "one producer warp, two consumer warpgroups"),
    warpgroups("wgmma_bf16_persistent", TensorInput::Bf16, ROWS_OF_16_BYTES, wgmma::persistent,
        "wgmma_bf16_specialised as a persistent kernel: each block computes many tiles"),
    warpgroups("wgmma_bf16_tma_store", TensorInput::Bf16, ROWS_OF_16_BYTES, wgmma::tma_store,
        "wgmma_bf16_persistent with stores by TMA, which overlap with the next tile"),
    warpgroups("wgmma_bf16_multicast", TensorInput::Bf16, ROWS_OF_16_BYTES, wgmma::multicast,
        "wgmma_bf16_tma_store in 2-CTA clusters that load B once, by multicast"),
    warpgroups("wgmma_bf16_stream_k", TensorInput::Bf16, ROWS_OF_16_BYTES, wgmma::stream_k,
        "wgmma_bf16_tma_store with the tiles of the partial wave split along k (stream-K)"),
    any_warpgroups("wgmma_bf16", TensorInput::Bf16, wgmma::bf16,
        "wgmma_bf16_stream_k for any size and layout, with a planned tile size and reduction"),
    any_warpgroups("wgmma_f16", TensorInput::F16, wgmma::f16, "wgmma_bf16 with f16 inputs"),
    sixteen_bit_output("wgmma_bf16_narrow", Bf16, TensorInput::Bf16, wgmma::bf16,
        "wgmma_bf16 with a 16-bit output"),
    sixteen_bit_output("wgmma_f16_narrow", F16, TensorInput::F16, wgmma::f16,
        "wgmma_f16 with a 16-bit output"),
    any_warpgroups("wgmma_tf32", TensorInput::Tf32, wgmma::tf32,
        "wgmma_bf16 with f32 inputs rounded to TF32"),
    any_warpgroups("wgmma_i8", TensorInput::I8, wgmma::i8,
        "wgmma_bf16 with 8-bit integers in, and sums of i32"),
    any_warpgroups("wgmma_fp8", TensorInput::E4m3, wgmma::fp8,
        "wgmma_bf16 with 8-bit floats (E4M3) in, promoted to f32 after every k-tile"),

    rung("volkov_sgemm", "000", Operation::ColumnMajorProduct, Multiples { m: 64, n: 16, k: 16 },
        kernel(volkov_sgemm::GEOMETRY), "64 threads, 16 accumulators each, A in registers; column-major"),
    wolfe("wolfe_ks", wolfe_k1::GEOMETRY_KS, [1, 32, 1], "column-major, no access stride 1"),
    wolfe("wolfe_k1_inverted", wolfe_k1::GEOMETRY_INVERTED, [32, 1, 1],
        "K1, width 32, grid transposed"),
    wolfe("wolfe_k1_w32", wolfe_k1::geometry(32), [32, 1, 1],
        "K1: one output per thread, width 32"),
    wolfe("wolfe_k1_w64", wolfe_k1::geometry(64), [64, 1, 1], "K1, width 64"),
    wolfe("wolfe_k1_w128", wolfe_k1::geometry(128), [128, 1, 1], "K1, width 128"),
    wolfe("wolfe_k1_w256", wolfe_k1::geometry(256), [256, 1, 1], "K1, width 256"),
    wolfe("wolfe_k2_w32", wolfe_k2::geometry(32), [32, 1, 32],
        "K2: a strip of B in shared memory, width 32"),
    wolfe("wolfe_k2_w64", wolfe_k2::geometry(64), [64, 1, 64], "K2, width 64"),
    wolfe("wolfe_k2_w64_k2", wolfe_k2::geometry(64), [64, 1, 64], "K2, width 64, k unrolled to 2"),
    wolfe("wolfe_k2_w128", wolfe_k2::geometry(128), [128, 1, 128], "K2, width 128"),
    wolfe("wolfe_k3_w32_i2", wolfe_k3::geometry(32, 2), [64, 1, 32],
        "K3: 2 rows per thread, width 32"),
    wolfe("wolfe_k3_w32_i4", wolfe_k3::geometry(32, 4), [128, 1, 32],
        "K3: 4 rows per thread, width 32"),
    wolfe("wolfe_k3_w64_i2", wolfe_k3::geometry(64, 2), [128, 1, 64],
        "K3: 2 rows per thread, width 64"),
    wolfe("wolfe_k4_w32_j2", wolfe_k4::geometry(32, 2), [32, 2, 32],
        "K4: 2 columns per thread, width 32"),
    rung("wolfe_k4_guarded", "004", Operation::ColumnMajorProduct, Any,
        kernel(wolfe_k4_guarded::GEOMETRY), "wolfe_k4_w32_j2 for any size"),
    wolfe("wolfe_k4_w64_j2", wolfe_k4::geometry(64, 2), [64, 2, 64],
        "K4: 2 columns per thread, width 64"),
    wolfe("wolfe_k4_w128_j2", wolfe_k4::geometry(128, 2), [128, 2, 128],
        "K4: 2 columns per thread, width 128"),
    wolfe("wolfe_k4_w128_j4", wolfe_k4::geometry(128, 4), [128, 4, 128],
        "K4: 4 columns per thread, width 128"),
    wolfe("wolfe_k4_w128_j4_k2", wolfe_k4::geometry(128, 4), [128, 4, 128],
        "K4: 4 columns per thread, width 128, k unrolled to 2"),
    wolfe("wolfe_k4_w128_j4_k4", wolfe_k4::geometry(128, 4), [128, 4, 128],
        "K4: 4 columns per thread, width 128, k unrolled to 4"),
    wolfe("wolfe_k5", wolfe_k5::GEOMETRY, [16, 16, 16], "K5: 16 x 16 tiles, column-major"),
    rung("wolfe_dispatch", "004", Operation::ColumnMajorProduct, Any,
        Implementation::Dispatch(&["wolfe_k4_w128_j4_k4", "wolfe_k4_guarded"]),
        "the exact kernel where the size allows, the guarded one elsewhere"),
];

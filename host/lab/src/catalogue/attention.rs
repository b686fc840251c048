//! Attention of heads.

use super::request::{PlanFn, of_launches};
use super::wgmma::map;
use super::{Family, Implementation, PlanRequest, Precondition, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::attention::attention_naive::{
    SCORES_GEOMETRY, SOFTMAX_GEOMETRY, VALUES_GEOMETRY,
};
use kernels_gpu::ladder::attention::{HEAD, attention_mma, attention_online, attention_wgmma};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType::{self, Bf16, F16, F32};
use warpladder::gemm::PlanError;
use warpladder::launch::Param::{self, Input, Output, U32, Workspace};
use warpladder::launch::{Dim3, Region};
use warpladder::plan::{Plan, PlannedLaunch};

const fn rung(
    name: &'static str,
    element: ElementType,
    implementation: Implementation,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Attention,
        source: "-",
        summary,
        element,
        operation: Operation::Attention {
            head: HEAD as u32,
            causal: false,
        },
        precondition: Precondition::Multiples {
            m: 1,
            n: HEAD as u32,
            k: 1,
        },
        implementation,
    }
}

const fn kernel(geometry: Geometry, compute_capability: ComputeCapability) -> Implementation {
    Implementation::Kernel {
        geometry,
        compute_capability,
    }
}

/// A rung of [`attention_wgmma`]: heads of 128 elements.
const fn wgmma(name: &'static str, plan: PlanFn, causal: bool, summary: &'static str) -> Rung {
    let implementation = Implementation::Planned {
        plan,
        compute_capability: ComputeCapability::V9_0,
        any_layout: false,
    };
    Rung {
        operation: Operation::Attention {
            head: attention_wgmma::HEAD as u32,
            causal,
        },
        precondition: Precondition::Multiples {
            m: 1,
            n: attention_wgmma::HEAD as u32,
            k: 1,
        },
        ..rung(name, Bf16, implementation, summary)
    }
}

/// One launch, with tensor maps of Q, K and V.
fn by_tma(entry: &'static str, request: &PlanRequest) -> Result<Plan, PlanError> {
    let [queries, width, keys] = [request.shape.m, request.shape.n, request.shape.k];
    let geometry = attention_wgmma::GEOMETRY;
    let boxes = [attention_wgmma::BOX_COLUMNS, attention_wgmma::BOX_ROWS];
    let maps = [queries, keys, keys].into_iter().enumerate();
    let maps = maps.map(|(input, rows)| map(Region::Input(input), 2, [rows, width], boxes));
    let mut params = vec![Param::TensorMaps(maps.collect()), Output];
    params.extend([queries, width, keys].map(U32));
    Ok(of_launches(vec![PlannedLaunch {
        entry,
        compute_capability: ComputeCapability::V9_0,
        grid: geometry.grid(queries.into(), width.into(), request.device.multiprocessors),
        block: geometry.block().into(),
        cluster: Dim3::ONE,
        shared_bytes: attention_wgmma::SHARED_BYTES as u32,
        params,
    }]))
}

fn full(request: &PlanRequest) -> Result<Plan, PlanError> {
    by_tma("attention_wgmma_bf16", request)
}

fn causal(request: &PlanRequest) -> Result<Plan, PlanError> {
    by_tma("attention_wgmma_bf16_causal", request)
}

/// Scores of every head in the workspace: two products, and a softmax between them.
fn naive(request: &PlanRequest) -> Result<Plan, PlanError> {
    let [queries, width, keys] = [request.shape.m, request.shape.n, request.shape.k].map(u64::from);
    let heads = width / HEAD as u64;
    let size = [request.shape.m, request.shape.n, request.shape.k].map(U32);
    let with_size = |params: &[Param]| [params, &size[..]].concat();
    let launch = |entry, geometry: Geometry, grid, params| PlannedLaunch {
        entry,
        compute_capability: ComputeCapability::V7_0,
        grid,
        block: geometry.block().into(),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params,
    };
    // Blocks of one head; its number is the grid's last index.
    let tiles = |geometry: Geometry, columns| {
        let [x, y, _] = geometry.grid(queries, columns, 1);
        [x, y, heads]
    };
    let [rows, ..] = SOFTMAX_GEOMETRY.grid(1, queries, 1);
    let softmax = vec![Workspace, U32(request.shape.m), U32(request.shape.k)];
    Ok(Plan {
        workspace_bytes: (heads * queries)
            .saturating_mul(keys)
            .saturating_mul(size_of::<f32>() as u64),
        ..of_launches(vec![
            launch(
                "attention_scores",
                SCORES_GEOMETRY,
                tiles(SCORES_GEOMETRY, keys),
                with_size(&[Input(0), Input(1), Workspace]),
            ),
            launch(
                "attention_softmax",
                SOFTMAX_GEOMETRY,
                // Without a key there is no row to divide.
                [rows, heads * keys.min(1), 1],
                softmax,
            ),
            launch(
                "attention_values",
                VALUES_GEOMETRY,
                tiles(VALUES_GEOMETRY, HEAD as u64),
                with_size(&[Workspace, Input(2), Output]),
            ),
        ])
    })
}

const NAIVE: Implementation = Implementation::Planned {
    plan: naive,
    compute_capability: ComputeCapability::V7_0,
    any_layout: false,
};

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("attention_naive", F32, NAIVE, "three launches, scores in memory"),
    rung("attention_online", F32, kernel(attention_online::GEOMETRY, ComputeCapability::V7_0),
        "online softmax, a thread a query"),
    rung("attention_mma_f16", F16, kernel(attention_mma::GEOMETRY, ComputeCapability::V8_0),
        "online softmax, both products by MMA"),
    rung("attention_mma_bf16", Bf16, kernel(attention_mma::GEOMETRY, ComputeCapability::V8_0),
        "online softmax, both products by MMA"),
    wgmma("attention_wgmma_bf16", full, false, "both products by warpgroup MMA, heads of 128"),
    wgmma("attention_wgmma_bf16_causal", causal, true, "query i sees keys 0 to i"),
];

//! Sums of all elements.

use super::request::{linear, of_launches};
use super::{Family, Implementation, PlanFn, PlanRequest, Precondition, Rung};
use crate::problem::{Operation, Shape};
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::reduce::{
    reduce_atomic, reduce_clear, reduce_one_pass, reduce_shared, reduce_shuffle, reduce_two_pass,
    reduce_vec4,
};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::gemm::PlanError;
use warpladder::launch::Param::{self, Input, Output, U32, Workspace, WorkspaceAt};
use warpladder::plan::Plan;

const fn rung(name: &'static str, plan: PlanFn, summary: &'static str) -> Rung {
    Rung {
        name,
        family: Family::Reduce,
        source: "-",
        summary,
        element: ElementType::F32,
        operation: Operation::Sum,
        precondition: Precondition::Any,
        implementation: Implementation::Planned {
            plan,
            compute_capability: ComputeCapability::V7_0,
            any_layout: false,
        },
    }
}

fn elements(Shape { m, n, .. }: Shape) -> u64 {
    u64::from(m) * u64::from(n)
}

/// Bytes of a partial sum.
const SUM_BYTES: u64 = size_of::<f32>() as u64;

/// The output is cleared, then all blocks add to it.
fn added(
    entry: &'static str,
    geometry: Geometry,
    request: &PlanRequest,
) -> Result<Plan, PlanError> {
    let add = vec![Input(0), Output];
    Ok(of_launches(vec![
        linear("reduce_clear", reduce_clear::GEOMETRY, 1, vec![Output]),
        linear(entry, geometry, elements(request.shape), add),
    ]))
}

/// Partial sums of all blocks, and their sum.
fn two_pass(request: &PlanRequest) -> Result<Plan, PlanError> {
    let store = vec![Input(0), Workspace];
    let geometry = reduce_two_pass::GEOMETRY;
    let blocks = linear("reduce_blocks", geometry, elements(request.shape), store);
    let count = blocks.grid[0];
    // Above the most blocks of a grid the plan is refused.
    let count_param = U32(count.min(u32::MAX.into()) as u32);
    let add = vec![Workspace, count_param, Output];
    Ok(Plan {
        workspace_bytes: count * SUM_BYTES,
        ..of_launches(vec![
            blocks,
            linear("reduce_partial_sums", geometry, 1, add),
        ])
    })
}

/// One launch, with a counter and partial sums. Of no element a block stores the sum too.
fn one_pass(request: &PlanRequest) -> Result<Plan, PlanError> {
    use reduce_one_pass::{COUNTER_BYTES, GEOMETRY};
    let params: Vec<Param> = vec![Input(0), Workspace, WorkspaceAt(COUNTER_BYTES), Output];
    let elements = elements(request.shape).max(1);
    let launch = linear("reduce_one_pass", GEOMETRY, elements, params);
    Ok(Plan {
        workspace_bytes: COUNTER_BYTES + launch.grid[0] * SUM_BYTES,
        zeroed_bytes: COUNTER_BYTES,
        ..of_launches(vec![launch])
    })
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("reduce_atomic", |of| added("reduce_atomic", reduce_atomic::GEOMETRY, of),
        "an atomic for each element"),
    rung("reduce_shared", |of| added("reduce_shared", reduce_shared::GEOMETRY, of),
        "a tree in shared memory, an atomic for each block"),
    rung("reduce_shuffle", |of| added("reduce_shuffle", reduce_shuffle::GEOMETRY, of),
        "shuffles, then one word of shared memory for each warp"),
    rung("reduce_vec4", |of| added("reduce_vec4", reduce_vec4::GEOMETRY, of),
        "16 elements per thread, 128-bit loads"),
    rung("reduce_two_pass", two_pass, "partial sums, and a second launch that reduces them"),
    rung("reduce_one_pass", one_pass, "partial sums, reduced by the last block to arrive"),
];

//! The softmax of rows.

use super::Precondition::{self, Any, Multiples};
use super::request::of_launches;
use super::{Family, Implementation, PlanRequest, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::softmax::{
    softmax_online, softmax_registers, softmax_three_pass, softmax_vec4, softmax_warp,
};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::gemm::PlanError;
use warpladder::launch::Dim3;
use warpladder::launch::Param::{Input, Output, U32};
use warpladder::plan::{Plan, PlannedLaunch};

const fn rung(
    name: &'static str,
    geometry: Geometry,
    precondition: Precondition,
    summary: &'static str,
) -> Rung {
    let implementation = Implementation::Kernel {
        geometry,
        compute_capability: ComputeCapability::V7_0,
    };
    of(name, precondition, summary, implementation)
}

const fn of(
    name: &'static str,
    precondition: Precondition,
    summary: &'static str,
    implementation: Implementation,
) -> Rung {
    Rung {
        name,
        family: Family::Softmax,
        source: "-",
        summary,
        element: ElementType::F32,
        operation: Operation::Softmax,
        precondition,
        implementation,
    }
}

/// A block for each row, as wide as the row; rows that no block holds are read twice.
fn registers(request: &PlanRequest) -> Result<Plan, PlanError> {
    let columns = request.shape.n;
    let [online_threads, ..] = softmax_online::GEOMETRY.block();
    let (entry, threads) = match softmax_registers::threads(columns) {
        Some(threads) => ("softmax_registers", threads),
        None => ("softmax_online", online_threads),
    };
    Ok(of_launches(vec![PlannedLaunch {
        entry,
        compute_capability: ComputeCapability::V7_0,
        grid: [request.shape.m.into(), 1, 1],
        block: Dim3::from([threads, 1, 1]),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: vec![Input(0), Output, U32(columns)],
    }]))
}

/// Rows of whole vectors of four elements.
const VECTORS: Precondition = Multiples { m: 1, n: 4, k: 1 };

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("softmax_three_pass", softmax_three_pass::GEOMETRY, Any,
        "three passes, a block a row"),
    rung("softmax_online", softmax_online::GEOMETRY, Any, "two passes, a block a row"),
    rung("softmax_warp", softmax_warp::GEOMETRY, Any, "two passes, a warp a row"),
    rung("softmax_vec4", softmax_vec4::GEOMETRY, VECTORS, "a warp a row, 128-bit accesses"),
    of("softmax_registers", Any, "one pass, a block a row, in registers", Implementation::Planned {
        plan: registers,
        compute_capability: ComputeCapability::V7_0,
        any_layout: false,
    }),
];

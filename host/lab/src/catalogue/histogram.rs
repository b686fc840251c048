//! Histograms.

use super::request::{linear, of_launches};
use super::{Family, Implementation, PlanFn, PlanRequest, Precondition, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::histogram::{
    BINS, histogram_clear, histogram_global, histogram_shared, histogram_warp,
};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::gemm::PlanError;
use warpladder::launch::Param::{Input, Output};
use warpladder::plan::Plan;

const fn rung(name: &'static str, plan: PlanFn, summary: &'static str) -> Rung {
    Rung {
        name,
        family: Family::Histogram,
        source: "-",
        summary,
        // What holds the integers.
        element: ElementType::F32,
        operation: Operation::Histogram,
        // All may be in one bin, whose count has 32 bits.
        precondition: Precondition::MostElements(u32::MAX as u64),
        implementation: Implementation::Planned {
            plan,
            compute_capability: ComputeCapability::V7_0,
            any_layout: false,
        },
    }
}

/// The output is cleared, then all blocks add to it.
fn counted(
    entry: &'static str,
    geometry: Geometry,
    request: &PlanRequest,
) -> Result<Plan, PlanError> {
    let elements = u64::from(request.shape.m) * u64::from(request.shape.n);
    let clear = histogram_clear::GEOMETRY;
    Ok(of_launches(vec![
        linear("histogram_clear", clear, BINS as u64, vec![Output]),
        linear(entry, geometry, elements, vec![Input(0), Output]),
    ]))
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("histogram_global", |of| counted("histogram_global", histogram_global::GEOMETRY, of),
        "an atomic in global memory for each element"),
    rung("histogram_shared", |of| counted("histogram_shared", histogram_shared::GEOMETRY, of),
        "a histogram for each block in shared memory"),
    rung("histogram_warp", |of| counted("histogram_warp", histogram_warp::GEOMETRY, of),
        "lanes with the same bin add once"),
];

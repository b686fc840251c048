//! The softmax of rows.

use super::Precondition::{self, Any, Multiples};
use super::{Family, Implementation, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::softmax::{
    softmax_online, softmax_three_pass, softmax_vec4, softmax_warp,
};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;

const fn rung(
    name: &'static str,
    geometry: Geometry,
    precondition: Precondition,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Softmax,
        source: "-",
        summary,
        element: ElementType::F32,
        operation: Operation::Softmax,
        precondition,
        implementation: Implementation::Kernel {
            geometry,
            compute_capability: ComputeCapability::V7_0,
        },
    }
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
];

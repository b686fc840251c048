//! Layer normalisation of rows.

use super::Precondition::{self, Any, Multiples};
use super::{Family, Implementation, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::layernorm::{
    layernorm_online, layernorm_three_pass, layernorm_vec4, layernorm_warp,
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
        family: Family::Layernorm,
        source: "-",
        summary,
        element: ElementType::F32,
        operation: Operation::LayerNorm,
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
    rung("layernorm_three_pass", layernorm_three_pass::GEOMETRY, Any,
        "three passes, a block a row"),
    rung("layernorm_online", layernorm_online::GEOMETRY, Any, "two passes, a block a row"),
    rung("layernorm_warp", layernorm_warp::GEOMETRY, Any, "two passes, a warp a row"),
    rung("layernorm_vec4", layernorm_vec4::GEOMETRY, VECTORS, "a warp a row, 128-bit accesses"),
];

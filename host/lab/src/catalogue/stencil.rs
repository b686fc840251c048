//! Weighted sums of neighbours.

use super::{Family, Implementation, Precondition, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::stencil::{stencil_1d, stencil_1d_shared, stencil_2d, stencil_2d_tiled};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;

const fn rung(
    name: &'static str,
    dimensions: u32,
    geometry: Geometry,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Stencil,
        source: "-",
        summary,
        element: ElementType::F32,
        operation: Operation::Stencil { dimensions },
        precondition: Precondition::Any,
        implementation: Implementation::Kernel {
            geometry,
            compute_capability: ComputeCapability::V7_0,
        },
    }
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("stencil_1d", 1, stencil_1d::GEOMETRY, "nine points, loaded nine times"),
    rung("stencil_1d_shared", 1, stencil_1d_shared::GEOMETRY,
        "a tile with a halo in shared memory"),
    rung("stencil_2d", 2, stencil_2d::GEOMETRY, "5 x 5 points, loaded 25 times"),
    rung("stencil_2d_tiled", 2, stencil_2d_tiled::GEOMETRY,
        "a tile with a halo in shared memory, four outputs per thread"),
];

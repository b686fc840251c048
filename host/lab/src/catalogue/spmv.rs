//! Products of a sparse matrix and a vector.

use super::{Family, Implementation, Precondition, Rung};
use crate::problem::{MAX_SPARSE_ROWS, Operation};
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::spmv::{spmv_lanes, spmv_thread, spmv_warp};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;

const fn rung(name: &'static str, geometry: Geometry, summary: &'static str) -> Rung {
    Rung {
        name,
        family: Family::Spmv,
        source: "-",
        summary,
        element: ElementType::F32,
        operation: Operation::SpMv,
        // Offsets have 32 bits.
        precondition: Precondition::MostRows(MAX_SPARSE_ROWS),
        implementation: Implementation::Kernel {
            geometry,
            compute_capability: ComputeCapability::V7_0,
        },
    }
}

/// The lanes of `spmv_warp`.
const WARP: usize = 32;

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("spmv_thread", spmv_thread::GEOMETRY, "CSR, a thread a row"),
    rung("spmv_warp", spmv_warp::geometry(WARP), "CSR, a warp a row"),
    rung("spmv_lanes", spmv_lanes::GEOMETRY, "CSR, eight lanes a row"),
];

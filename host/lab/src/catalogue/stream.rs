//! Copies and chains of arithmetic.

use super::Precondition::{self, Any, Elements};
use super::{Family, Implementation, Rung};
use crate::problem::Operation::{self, AddOne, FmaChains, StreamCopy};
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::stream::{BLOCK, add_one, copy_elements, copy_vectors, fma_ilp};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;

const fn rung(
    name: &'static str,
    source: &'static str,
    operation: Operation,
    geometry: Geometry,
    precondition: Precondition,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Stream,
        source,
        summary,
        element: ElementType::F32,
        operation,
        precondition,
        implementation: Implementation::Kernel {
            geometry,
            compute_capability: ComputeCapability::V7_0,
        },
    }
}

/// Each thread of every block has this many elements.
const fn per_thread(elements: usize) -> Precondition {
    Elements((BLOCK * elements) as u32)
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("add_one", "002", AddOne, add_one::GEOMETRY, Any, "grid-stride loop, adds 1"),
    rung("copy_1", "000", StreamCopy, copy_elements::geometry(1), per_thread(1),
        "1 element per thread"),
    rung("copy_2", "000", StreamCopy, copy_elements::geometry(2), per_thread(2),
        "2 elements per thread"),
    rung("copy_4", "000", StreamCopy, copy_elements::geometry(4), per_thread(4),
        "4 elements per thread"),
    rung("copy_8", "000", StreamCopy, copy_elements::geometry(8), per_thread(8),
        "8 elements per thread"),
    rung("copy_vec2", "000", StreamCopy, copy_vectors::geometry(2), per_thread(2),
        "64-bit accesses"),
    rung("copy_vec4", "000", StreamCopy, copy_vectors::geometry(4), per_thread(4),
        "128-bit accesses"),
    rung("fma_ilp_1", "000", FmaChains { chains: 1 }, fma_ilp::GEOMETRY, per_thread(1),
        "1 chain of dependent multiply-adds per thread"),
    rung("fma_ilp_2", "000", FmaChains { chains: 2 }, fma_ilp::GEOMETRY, per_thread(1),
        "2 chains per thread"),
    rung("fma_ilp_3", "000", FmaChains { chains: 3 }, fma_ilp::GEOMETRY, per_thread(1),
        "3 chains per thread"),
    rung("fma_ilp_4", "000", FmaChains { chains: 4 }, fma_ilp::GEOMETRY, per_thread(1),
        "4 chains per thread"),
];

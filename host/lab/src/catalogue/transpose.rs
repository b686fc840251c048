//! The transposes.

use super::{Family, Implementation, Precondition, Rung};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::transpose::{GEOMETRY, TILE, transpose_fast};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType::{self, F16, F32, F64};

const fn rung(
    name: &'static str,
    source: &'static str,
    operation: Operation,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Transpose,
        source,
        summary,
        element: F32,
        operation,
        precondition: Precondition::multiples_of(TILE as u32),
        implementation: Implementation::Kernel {
            geometry: GEOMETRY,
            compute_capability: ComputeCapability::V7_0,
        },
    }
}

/// `transpose_fast` for one element type.
const fn fast(
    name: &'static str,
    element: ElementType,
    geometry: Geometry,
    summary: &'static str,
) -> Rung {
    Rung {
        element,
        precondition: Precondition::Any,
        implementation: Implementation::Kernel {
            geometry,
            compute_capability: ComputeCapability::V7_0,
        },
        ..rung(name, "-", Operation::Transpose, summary)
    }
}

/// Rungs, each with the entry that does the same several times in one launch. It takes the rung's
/// parameters, then how often: `repetitions: u32`.
pub(super) const REPEATED: &[(&str, &str)] = &[
    ("copy", "copy_repeated"),
    ("transpose_naive", "transpose_naive_repeated"),
    ("transpose_coalesced", "transpose_coalesced_repeated"),
    ("transpose_padded", "transpose_padded_repeated"),
    ("transpose_swizzled", "transpose_swizzled_repeated"),
];

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("copy", "003", Operation::Copy, "straight copy: the ceiling of every transpose"),
    rung("transpose_naive", "003", Operation::Transpose, "coalesced loads, strided stores"),
    rung("transpose_coalesced", "003", Operation::Transpose,
        "through a 32 x 32 shared tile: coalesced, with 32-way bank conflicts"),
    rung("transpose_padded", "003", Operation::Transpose, "32 x 33 tile: no bank conflicts"),
    rung("transpose_swizzled", "-", Operation::Transpose, "XOR swizzle: no bank conflicts, no \
        padding"),
    fast("transpose_fast", F32, transpose_fast::GEOMETRY, "micro-tiles of 16-byte vectors transposed in registers, any size"),
    fast("transpose_fast_f64", F64, transpose_fast::GEOMETRY, "transpose_fast in double precision"),
    fast("transpose_fast_f16", F16, transpose_fast::GEOMETRY_F16,
        "transpose_fast for 2-byte elements"),
];

//! The transposes.

use super::{Family, Implementation, Precondition, Rung};
use crate::element::ElementType;
use crate::problem::Operation;
use kernels_gpu::transpose::{GEOMETRY, TILE};

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
        element: ElementType::F32,
        operation,
        precondition: Precondition::multiples_of(TILE as u32),
        implementation: Implementation::Kernel {
            geometry: GEOMETRY,
            compute_capability: 70,
        },
    }
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("copy", "003", Operation::Copy, "straight copy: the ceiling of every transpose"),
    rung("transpose_naive", "003", Operation::Transpose, "coalesced loads, strided stores"),
    rung("transpose_coalesced", "003", Operation::Transpose,
        "through a 32 x 32 shared tile: coalesced, with 32-way bank conflicts"),
    rung("transpose_padded", "003", Operation::Transpose, "32 x 33 tile: no bank conflicts"),
    rung("transpose_swizzled", "-", Operation::Transpose, "XOR swizzle: no bank conflicts, no padding"),
];

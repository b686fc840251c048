//! The transposes.

use super::{Family, Multiples, Rung};
use crate::element::ElementType;
use crate::problem::Operation;
use kernels_gpu::transpose::{GEOMETRY, TILE};

const fn rung(name: &'static str, operation: Operation, summary: &'static str) -> Rung {
    Rung {
        name,
        family: Family::Transpose,
        source: "003",
        summary,
        element: ElementType::F32,
        operation,
        geometry: GEOMETRY,
        multiples: Multiples::of(TILE as u32),
        compute_capability: 70,
    }
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("copy", Operation::Copy, "straight copy: the ceiling of every transpose"),
    rung("transpose_naive", Operation::Transpose, "coalesced loads, strided stores"),
    rung("transpose_coalesced", Operation::Transpose,
        "through a 32 x 32 shared tile: coalesced, with 32-way bank conflicts"),
    rung("transpose_padded", Operation::Transpose, "32 x 33 tile: no bank conflicts"),
];

//! The matrix products.

use super::{Family, Multiples, Rung};
use crate::element::ElementType::{self, F32, F64};
use crate::problem::Operation;
use kernels_gpu::geometry::Geometry;
use kernels_gpu::matmul::{naive, naive_uncoalesced, tiled, tiled_guarded};

const fn product(
    name: &'static str,
    element: ElementType,
    source: &'static str,
    geometry: Geometry,
    multiples: Multiples,
    summary: &'static str,
) -> Rung {
    Rung {
        name,
        family: Family::Matmul,
        source,
        summary,
        element,
        operation: Operation::Product,
        geometry,
        multiples,
        compute_capability: 70,
    }
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    product("naive_uncoalesced", F32, "000, 004", naive_uncoalesced::GEOMETRY, Multiples::ANY,
        "one thread per element, x along the rows: uncoalesced"),
    product("naive", F32, "001, 000", naive::GEOMETRY, Multiples::ANY,
        "one thread per element, x along the columns"),
    product("tiled_16", F32, "001, 000", tiled::GEOMETRY_16, Multiples::of(16),
        "16 x 16 tiles in shared memory, exact multiples"),
    product("tiled_32", F32, "001, 000", tiled::GEOMETRY_32, Multiples::of(32),
        "32 x 32 tiles in shared memory, exact multiples"),
    product("tiled_guarded_16", F32, "001, 004", tiled_guarded::GEOMETRY_16, Multiples::ANY,
        "16 x 16 tiles, zero-filled at the edges: any size"),
    product("tiled_guarded_32", F32, "001, 004", tiled_guarded::GEOMETRY_32, Multiples::ANY,
        "32 x 32 tiles, zero-filled at the edges: any size"),
    product("naive_uncoalesced_f64", F64, "000", naive_uncoalesced::GEOMETRY, Multiples::ANY,
        "naive_uncoalesced in double precision"),
    product("naive_f64", F64, "000", naive::GEOMETRY, Multiples::ANY,
        "naive in double precision"),
    product("tiled_16_f64", F64, "000", tiled::GEOMETRY_16, Multiples::of(16),
        "tiled_16 in double precision"),
    product("tiled_32_f64", F64, "000", tiled::GEOMETRY_32, Multiples::of(32),
        "tiled_32 in double precision"),
];

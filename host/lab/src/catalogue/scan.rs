//! Scans.

use super::request::{linear, of_launches};
use super::{Family, Implementation, PlanFn, PlanRequest, Precondition, Rung};
use crate::problem::{Operation, Shape};
use kernels_gpu::geometry::Geometry;
use kernels_gpu::ladder::scan::scan_look_back::{CLEAR_GEOMETRY, COUNTER_WORDS};
use kernels_gpu::ladder::scan::{
    BLOCK, scan_add, scan_blelloch, scan_hillis_steele, scan_large_tiles, scan_look_back, scan_warp,
};
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::gemm::PlanError;
use warpladder::launch::Param::{Input, Output, U32, Workspace, WorkspaceAt};
use warpladder::plan::Plan;

const fn rung(name: &'static str, plan: PlanFn, summary: &'static str) -> Rung {
    Rung {
        name,
        family: Family::Scan,
        source: "-",
        summary,
        // What holds the integers.
        element: ElementType::F32,
        operation: Operation::Scan,
        precondition: Precondition::Any,
        implementation: Implementation::Planned {
            plan,
            compute_capability: ComputeCapability::V7_0,
            any_layout: false,
        },
    }
}

/// One block of the family.
const ONE_BLOCK: Geometry = Geometry::Linear {
    block: BLOCK as u32,
    elements: BLOCK as u32,
};

fn elements(Shape { m, n, .. }: Shape) -> u64 {
    u64::from(m) * u64::from(n)
}

/// A count that a kernel takes in 32 bits. Where it is more, so are the blocks of a grid, and the
/// plan is refused.
fn word(count: u64) -> u32 {
    count.min(u32::MAX.into()) as u32
}

/// Tiles are scanned by `entry`, then their sums, which are added to all elements.
fn three_launches(
    entry: &'static str,
    geometry: Geometry,
    tile: usize,
    request: &PlanRequest,
) -> Result<Plan, PlanError> {
    let Shape { m, n, .. } = request.shape;
    let elements = elements(request.shape);
    let tiles = linear(entry, geometry, elements, vec![Input(0), Output, Workspace]);
    let count = tiles.grid[0];
    let sums = vec![Workspace, U32(word(count))];
    let add = vec![Output, Workspace, U32(tile as u32), U32(m), U32(n)];
    Ok(Plan {
        workspace_bytes: count * size_of::<u32>() as u64,
        ..of_launches(vec![
            tiles,
            linear("scan_sums", ONE_BLOCK, count.min(1), sums),
            linear("scan_add", scan_add::GEOMETRY, elements, add),
        ])
    })
}

/// States of tiles are cleared, then tiles look back.
fn look_back(
    entry: &'static str,
    geometry: Geometry,
    tile: usize,
    request: &PlanRequest,
) -> Result<Plan, PlanError> {
    const WORD_BYTES: u64 = size_of::<u64>() as u64;
    let elements = elements(request.shape);
    let words = COUNTER_WORDS + elements.div_ceil(tile as u64);
    let scan = vec![
        Input(0),
        Output,
        Workspace,
        WorkspaceAt(COUNTER_WORDS * WORD_BYTES),
    ];
    let clear = vec![Workspace, U32(word(words))];
    Ok(Plan {
        workspace_bytes: words * WORD_BYTES,
        ..of_launches(vec![
            linear("scan_clear", CLEAR_GEOMETRY, words, clear),
            linear(entry, geometry, elements, scan),
        ])
    })
}

#[rustfmt::skip]
pub(super) const RUNGS: &[Rung] = &[
    rung("scan_hillis_steele", |of| three_launches("scan_hillis_steele_tiles",
        scan_hillis_steele::GEOMETRY, scan_hillis_steele::TILE, of),
        "log n steps over all elements of a tile"),
    rung("scan_blelloch", |of| three_launches("scan_blelloch_tiles",
        scan_blelloch::GEOMETRY, scan_blelloch::TILE, of),
        "up a tree and down again"),
    rung("scan_warp", |of| three_launches("scan_warp_tiles",
        scan_warp::GEOMETRY, scan_warp::TILE, of),
        "four elements per thread, shuffles"),
    rung("scan_look_back", |of| look_back("scan_look_back",
        scan_look_back::GEOMETRY, scan_look_back::TILE, of),
        "one pass: tiles look back at those before them"),
    rung("scan_large_tiles", |of| look_back("scan_large_tiles",
        scan_large_tiles::GEOMETRY, scan_large_tiles::TILE, of),
        "one pass, 32 elements per thread"),
];

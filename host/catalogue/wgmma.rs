//! The launches of the rungs that multiply by warpgroups: matrices are named by tensor maps.

use crate::engine::Dim3;
use crate::plan::{Plan, PlannedLaunch, Request};
use crate::problem::{InputMap, Param, Shape};
use kernels_gpu::hopper::{tiles, wgmma, wgmma_single};

/// The generation that has `wgmma`, times ten.
pub(super) const COMPUTE_CAPABILITY: u32 = 90;

/// Bytes of an element of A or B.
const ELEMENT_BYTES: u32 = 2;

/// Elements of 16 bytes: rows are multiples of them.
pub(super) const ROW_MULTIPLE: u32 = 16 / ELEMENT_BYTES;

/// `wgmma_bf16_single`: a block for each tile.
pub(super) fn single(request: &Request) -> Plan {
    let Shape { m, n, .. } = request.shape;
    let geometry = wgmma_single::GEOMETRY;
    launch("wgmma_bf16_single", request, wgmma_single::A_ROWS, |plan| {
        plan.grid = geometry.grid(m.into(), n.into(), request.multiprocessors);
        plan.block = geometry.block().into();
        plan.shared_bytes = wgmma_single::SHARED_BYTES as u32;
    })
}

/// `wgmma_bf16`.
pub(super) fn bf16(request: &Request) -> Plan {
    let entries = ["wgmma_bf16", "wgmma_bf16_n128", "wgmma_bf16_n64"];
    persistent(entries, request)
}

/// `wgmma_f16`.
pub(super) fn f16(request: &Request) -> Plan {
    let entries = ["wgmma_f16", "wgmma_f16_n128", "wgmma_f16_n64"];
    persistent(entries, request)
}

/// Columns of the tiles of each entry, and what one of them takes, in hundredths of the first's: on an H200 those of 64
/// are held up by shared memory.
const WIDTHS: [(u64, u64); 3] = [(256, 100), (128, 101), (64, 140)];

/// What storing the last tile takes for each of its columns, in the same unit. Other tiles are stored while the next
/// one's stages fill.
const STORE: u64 = 20;

/// A block for each multiprocessor, as far as there are tiles, of the width with which the busiest one is done first.
fn persistent(entries: [&'static str; 3], request: &Request) -> Plan {
    let Shape { m, n, .. } = request.shape;
    let processors = u64::from(request.multiprocessors).max(1);
    let tiles = |columns: u64| {
        let rows = wgmma::A_ROWS as u64;
        u64::from(m).div_ceil(rows) * u64::from(n).div_ceil(columns)
    };
    let time = |(columns, of_column): (u64, u64)| {
        columns * (tiles(columns).div_ceil(processors) * of_column + STORE)
    };
    let mut best = (entries[0], WIDTHS[0]);
    for candidate in entries.into_iter().zip(WIDTHS) {
        if time(candidate.1) < time(best.1) {
            best = candidate;
        }
    }
    let (entry, (columns, _)) = best;
    let tiles = tiles(columns);
    launch(entry, request, wgmma::A_ROWS, |plan| {
        plan.grid = [tiles.min(request.multiprocessors.into()), 1, 1];
        plan.block = Dim3::new(wgmma::THREADS as u32, 1, 1);
        plan.shared_bytes = wgmma::shared_bytes(columns as usize) as u32;
    })
}

/// One launch, with boxes of A of so many rows; `shape` fills in how large it is.
fn launch(
    entry: &'static str,
    request: &Request,
    a_rows: usize,
    shape: impl FnOnce(&mut PlannedLaunch),
) -> Plan {
    let Shape { m, n, k } = request.shape;
    let map = |input, rows, columns, [box_columns, box_rows]: [usize; 2]| InputMap {
        input,
        element_bytes: ELEMENT_BYTES,
        // Nothing cannot be mapped, and is not copied.
        rows: u32::max(rows, 1),
        columns: u32::max(columns, ROW_MULTIPLE),
        box_columns: box_columns as u32,
        box_rows: box_rows as u32,
    };
    let mut launch = PlannedLaunch {
        entry,
        compute_capability: COMPUTE_CAPABILITY,
        grid: [0; 3],
        block: Dim3::new(1, 1, 1),
        shared_bytes: 0,
        params: vec![
            Param::TensorMaps(vec![
                map(0, m, k, [tiles::DEPTH, a_rows]),
                map(1, k, n, [tiles::BOX_COLUMNS, tiles::DEPTH]),
            ]),
            Param::Output,
            Param::U32(m),
            Param::U32(n),
            Param::U32(k),
        ],
    };
    shape(&mut launch);
    Plan {
        launches: vec![launch],
        workspace_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Operation, TensorInput};

    #[test]
    fn tiles_are_as_narrow_as_it_takes_to_fill_the_gpu() {
        let chosen = |m, n| {
            let plan = bf16(&Request {
                operation: Operation::TensorProduct(TensorInput::Bf16),
                shape: Shape { m, n, k: 1024 },
                multiprocessors: 132,
                compute_capability: 90,
                transposed: [false; 2],
            });
            let launch = &plan.launches[0];
            (launch.entry, launch.grid[0])
        };
        assert_eq!(chosen(8, 8), ("wgmma_bf16_n64", 1));
        assert_eq!(chosen(1024, 1024), ("wgmma_bf16_n64", 128));
        assert_eq!(chosen(2048, 2048), ("wgmma_bf16_n128", 132));
        assert_eq!(chosen(8192, 8192), ("wgmma_bf16", 132));
    }
}

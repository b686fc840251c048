//! The launches of the rungs that multiply by warpgroups.

use super::{PlanRequest, gemm};
use crate::problem::Shape;
use kernels_gpu::gemm::wgmma::stage;
use kernels_gpu::ladder::matmul::{wgmma_persistent, wgmma_single};
use warpladder::gemm::Tf32;
use warpladder::launch::Dim3;
use warpladder::launch::{Param, Region, TensorMap};
use warpladder::plan::{Plan, PlannedLaunch};

pub(super) use warpladder::gemm::HOPPER as COMPUTE_CAPABILITY;

/// Bytes of an element of A or B.
const ELEMENT_BYTES: u32 = 2;

/// Elements of 16 bytes: rows are multiples of them.
pub(super) const ROW_MULTIPLE: u32 = 16 / ELEMENT_BYTES;

/// `wgmma_bf16_single`: a block for each tile.
pub(super) fn single(request: &PlanRequest) -> Plan {
    let Shape { m, n, .. } = request.shape;
    let geometry = wgmma_single::GEOMETRY;
    dense("wgmma_bf16_single", request, wgmma_single::BM, |launch| {
        launch.grid = geometry.grid(m.into(), n.into(), request.multiprocessors);
        launch.block = geometry.block().into();
        launch.shared_bytes = wgmma_single::SHARED_BYTES as u32;
    })
}

/// `wgmma_bf16_specialised`: a block for each tile.
pub(super) fn specialised(request: &PlanRequest) -> Plan {
    roles(request, u64::MAX)
}

/// `wgmma_bf16_persistent`: a block for each multiprocessor, as far as there are tiles.
pub(super) fn persistent(request: &PlanRequest) -> Plan {
    roles(request, request.multiprocessors.into())
}

/// The kernel of both, with at most `most` blocks.
fn roles(request: &PlanRequest, most: u64) -> Plan {
    let Shape { m, n, .. } = request.shape;
    let rows = u64::from(m).div_ceil(wgmma_persistent::BM as u64);
    let tiles = rows * u64::from(n).div_ceil(wgmma_persistent::BN as u64);
    dense(
        "wgmma_bf16_persistent",
        request,
        wgmma_persistent::BM,
        |launch| {
            launch.grid = [tiles.min(most), 1, 1];
            launch.block = Dim3::new(wgmma_persistent::THREADS as u32, 1, 1);
            launch.shared_bytes = wgmma_persistent::SHARED_BYTES as u32;
        },
    )
}

/// One launch on dense matrices, with boxes of A of `a_rows` rows; `shape` fills in the extents of
/// the launch.
fn dense(
    entry: &'static str,
    request: &PlanRequest,
    a_rows: usize,
    shape: impl FnOnce(&mut PlannedLaunch),
) -> Plan {
    let Shape { m, n, k } = request.shape;
    let map = |input, rows: u32, columns: u32, [box_columns, box_rows]: [usize; 2]| {
        // Nothing cannot be mapped, and is not copied.
        let (rows, columns) = (rows.max(1), columns.max(ROW_MULTIPLE));
        TensorMap {
            region: Region::Input(input),
            element_bytes: ELEMENT_BYTES,
            columns,
            rows,
            matrices: 1,
            pitch: columns,
            stride: u64::from(rows) * u64::from(columns),
            box_columns: box_columns as u32,
            box_rows: box_rows as u32,
        }
    };
    let bk = stage::block_k(ELEMENT_BYTES as usize);
    let mut launch = PlannedLaunch {
        entry,
        compute_capability: COMPUTE_CAPABILITY,
        grid: [0; 3],
        block: Dim3::ONE,
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: vec![
            Param::TensorMaps(vec![map(0, m, k, [bk, a_rows]), map(1, k, n, [bk; 2])]),
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
        zeroed_bytes: 0,
    }
}

/// `wgmma_bf16` and `wgmma_bf16_narrow`.
pub(super) fn bf16(request: &PlanRequest) -> Plan {
    gemm::plan::<half::bf16>(request, COMPUTE_CAPABILITY)
}

/// `wgmma_f16` and `wgmma_f16_narrow`.
pub(super) fn f16(request: &PlanRequest) -> Plan {
    gemm::plan::<half::f16>(request, COMPUTE_CAPABILITY)
}

/// `wgmma_tf32`.
pub(super) fn tf32(request: &PlanRequest) -> Plan {
    gemm::plan::<Tf32>(request, COMPUTE_CAPABILITY)
}

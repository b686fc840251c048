//! The launches of the rungs that multiply by warpgroups.

use super::{PlanRequest, gemm};
use crate::problem::Shape;
use kernels_gpu::gemm::epilogue::tma_store;
use kernels_gpu::gemm::wgmma::stage;
use kernels_gpu::ladder::matmul::{
    wgmma_multicast, wgmma_persistent, wgmma_single, wgmma_stream_k, wgmma_tma_store,
};
use warpladder::gemm::PlanError;
use warpladder::gemm::{E4m3, Tf32};
use warpladder::launch::Dim3;
use warpladder::launch::{L2Promotion, Param, Region, TensorMap};
use warpladder::plan::{Plan, PlannedLaunch};

pub(super) use warpladder::gemm::HOPPER as COMPUTE_CAPABILITY;

/// Bytes of an element of A or B.
const ELEMENT_BYTES: u32 = 2;

/// Elements of 16 bytes: rows are multiples of them.
pub(super) const ROW_MULTIPLE: u32 = 16 / ELEMENT_BYTES;

/// Elements along k of a k-tile.
const BK: usize = stage::block_k(ELEMENT_BYTES as usize);

/// `wgmma_bf16_single`: a block for each tile.
pub(super) fn single(request: &PlanRequest) -> Result<Plan, PlanError> {
    let Shape { m, n, .. } = request.shape;
    let geometry = wgmma_single::GEOMETRY;
    Ok(dense(
        "wgmma_bf16_single",
        request,
        wgmma_single::BM,
        |launch| {
            launch.grid = geometry.grid(m.into(), n.into(), request.device.multiprocessors);
            launch.block = geometry.block().into();
            launch.shared_bytes = wgmma_single::SHARED_BYTES as u32;
        },
    ))
}

/// `wgmma_bf16_specialised`: a block for each tile.
pub(super) fn specialised(request: &PlanRequest) -> Result<Plan, PlanError> {
    roles(request, u64::MAX)
}

/// `wgmma_bf16_persistent`: a block for each multiprocessor, as far as there are tiles.
pub(super) fn persistent(request: &PlanRequest) -> Result<Plan, PlanError> {
    roles(request, request.device.multiprocessors.into())
}

/// The kernel of both, with at most `most` blocks.
fn roles(request: &PlanRequest, most: u64) -> Result<Plan, PlanError> {
    let tiles = tiles(request);
    Ok(dense(
        "wgmma_bf16_persistent",
        request,
        wgmma_persistent::BM,
        |launch| {
            launch.grid = [tiles.min(most), 1, 1];
            launch.block = Dim3::new(wgmma_persistent::THREADS as u32, 1, 1);
            launch.shared_bytes = wgmma_persistent::SHARED_BYTES as u32;
        },
    ))
}

/// Tiles of C of 128 × 256 elements.
fn tiles(request: &PlanRequest) -> u64 {
    let Shape { m, n, .. } = request.shape;
    let rows = u64::from(m).div_ceil(wgmma_persistent::BM as u64);
    rows * u64::from(n).div_ceil(wgmma_persistent::BN as u64)
}

/// `wgmma_bf16_tma_store`: the blocks of `wgmma_bf16_persistent`.
pub(super) fn tma_store(request: &PlanRequest) -> Result<Plan, PlanError> {
    let blocks = tiles(request).min(request.device.multiprocessors.into());
    Ok(stored_by_tma(
        "wgmma_bf16_tma_store",
        request,
        BK,
        |launch| {
            launch.grid = [blocks, 1, 1];
            launch.shared_bytes = wgmma_tma_store::SHARED_BYTES as u32;
        },
    ))
}

/// `wgmma_bf16_multicast`: the same in clusters of two.
pub(super) fn multicast(request: &PlanRequest) -> Result<Plan, PlanError> {
    let Shape { m, n, .. } = request.shape;
    let size = wgmma_multicast::CLUSTER_SIZE;
    let clusters = wgmma_multicast::tiles(m, n)
        .count()
        .min(request.device.multiprocessors)
        .div_ceil(size);
    let b_rows = wgmma_multicast::B_BOX_ROWS as usize;
    Ok(stored_by_tma(
        "wgmma_bf16_multicast",
        request,
        b_rows,
        |launch| {
            launch.grid = [u64::from(clusters) * u64::from(size), 1, 1];
            launch.cluster = Dim3::new(size, 1, 1);
            launch.shared_bytes = wgmma_multicast::SHARED_BYTES as u32;
        },
    ))
}

/// Most splits of a stream-K tile, whose partial sums one block loads. An H200 takes at
/// 1536 × 3072 × 4096, where 11 would fit: 0.0812 ms with 2, 0.0744 with 4, 0.0763 with 6, 0.0958
/// with 11.
const MAX_SPLITS: u32 = 4;

/// `wgmma_bf16_stream_k`: a block for each multiprocessor. Those tiles that do not fill a wave are
/// split where two blocks or more are left for each.
pub(super) fn stream_k(request: &PlanRequest) -> Result<Plan, PlanError> {
    let multiprocessors = request.device.multiprocessors.max(1);
    // The C of 2³² tiles does not fit into any device memory.
    let tiles = u32::try_from(tiles(request)).unwrap_or(u32::MAX);
    let k_tiles = stage::k_tiles(request.shape.k, BK);
    let rest = tiles % multiprocessors;
    let splits = (multiprocessors / rest.max(1)).min(k_tiles).min(MAX_SPLITS);
    let (stream_k_tiles, splits) = if rest > 0 && splits > 1 {
        (rest, splits)
    } else {
        (0, 1)
    };
    let data_parallel_tiles = tiles - stream_k_tiles;
    let blocks = data_parallel_tiles
        .min(multiprocessors)
        .max(stream_k_tiles * splits);
    let plan = stored_by_tma("wgmma_bf16_stream_k", request, BK, |launch| {
        launch.grid = [blocks.into(), 1, 1];
        launch.shared_bytes = wgmma_stream_k::SHARED_BYTES as u32;
        launch.params.extend([
            Param::Workspace,
            Param::U32(data_parallel_tiles),
            Param::U32(splits),
        ]);
    });
    let bytes = |elements: u64| elements * size_of::<f32>() as u64;
    Ok(Plan {
        workspace_bytes: bytes(wgmma_stream_k::workspace_elements(stream_k_tiles, splits)),
        zeroed_bytes: bytes(wgmma_stream_k::partial_sums_offset(stream_k_tiles)),
        ..plan
    })
}

/// A launch of [`dense`] of blocks for tiles of 128 × 256, with boxes of B of `b_rows` rows and a
/// map of C.
fn stored_by_tma(
    entry: &'static str,
    request: &PlanRequest,
    b_rows: usize,
    shape: impl FnOnce(&mut PlannedLaunch),
) -> Plan {
    let Shape { m, n, .. } = request.shape;
    let c_box = [
        tma_store::box_columns(size_of::<f32>()),
        tma_store::box_rows(false),
    ];
    dense(entry, request, wgmma_tma_store::BM, |launch| {
        launch.block = Dim3::new(wgmma_tma_store::THREADS as u32, 1, 1);
        for param in &mut launch.params {
            if let Param::TensorMaps(maps) = param {
                maps[1].box_rows = b_rows as u32;
                let element_bytes = size_of::<f32>() as u32;
                maps.push(map(Region::Output, element_bytes, [m, n], c_box));
            }
        }
        shape(launch);
    })
}

/// The map of a dense matrix of `rows` × `columns`, with boxes of `box_columns` × `box_rows`.
pub(super) fn map(
    region: Region,
    element_bytes: u32,
    [rows, columns]: [u32; 2],
    [box_columns, box_rows]: [usize; 2],
) -> TensorMap {
    // Nothing cannot be mapped, and is not copied.
    let (rows, columns) = (rows.max(1), columns.max(ROW_MULTIPLE));
    TensorMap {
        region,
        element_bytes,
        columns,
        rows,
        matrices: 1,
        pitch: columns,
        stride: u64::from(rows) * u64::from(columns),
        box_columns: box_columns as u32,
        box_rows: box_rows as u32,
        l2_promotion: L2Promotion::Bytes256,
    }
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
    let map = |input, size, extents| map(Region::Input(input), ELEMENT_BYTES, size, extents);
    let mut launch = PlannedLaunch {
        entry,
        compute_capability: COMPUTE_CAPABILITY,
        grid: [0; 3],
        block: Dim3::ONE,
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: vec![
            Param::TensorMaps(vec![map(0, [m, k], [BK, a_rows]), map(1, [k, n], [BK; 2])]),
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
pub(super) fn bf16(request: &PlanRequest) -> Result<Plan, PlanError> {
    gemm::plan::<half::bf16>(request, COMPUTE_CAPABILITY)
}

/// `wgmma_f16` and `wgmma_f16_narrow`.
pub(super) fn f16(request: &PlanRequest) -> Result<Plan, PlanError> {
    gemm::plan::<half::f16>(request, COMPUTE_CAPABILITY)
}

/// `wgmma_i8`.
pub(super) fn i8(request: &PlanRequest) -> Result<Plan, PlanError> {
    gemm::plan::<i8>(request, COMPUTE_CAPABILITY)
}

/// `wgmma_fp8`.
pub(super) fn fp8(request: &PlanRequest) -> Result<Plan, PlanError> {
    gemm::plan::<E4m3>(request, COMPUTE_CAPABILITY)
}

/// `wgmma_tf32`.
pub(super) fn tf32(request: &PlanRequest) -> Result<Plan, PlanError> {
    gemm::plan::<Tf32>(request, COMPUTE_CAPABILITY)
}

//! The launches of a product whose kernel has been chosen, and their parameters.

use super::operand::Oriented;
use super::parameters::bytes;
use super::{Description, DeviceLimits, EightBit, GemmInput, PORTABLE, Precision, Scales};
use crate::launch::{Dim3, Param};
use crate::plan::{Plan, PlannedLaunch};
use kernels_gpu::gemm::copy::layout;
use kernels_gpu::gemm::mma::split::RANGE_BYTES;
use kernels_gpu::gemm::planner::{Decomposition, GemmPlan, TileScheduler};
use kernels_gpu::gemm::scheduler::grid::GridSchedulerParams;

/// The launches of a product by a plan that was chosen for the same description and device.
pub fn plan_choice<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    choice: &GemmPlan,
) -> Plan {
    let mut plan = Plan {
        launches: Vec::new(),
        workspace_bytes: 0,
        zeroed_bytes: 0,
    };
    let [m, n, _] = description.extents;
    if m == 0 || n == 0 || description.batch == 0 {
        return plan;
    }
    plan.workspace_bytes = choice.workspace_bytes;
    plan.zeroed_bytes = choice.zeroed_bytes;
    // A choice is of kernels that there are.
    let kernels = description.kernels(device);
    let kernels = kernels.unwrap_or(T::kernels(device.generation, description.c_16bit));
    let module = |name: &str| {
        let mut entries = kernels.entries();
        let known = entries.find(|(entry, _)| *entry == name);
        known.map_or(PORTABLE, |(_, capability)| capability.into())
    };
    let takes_fusion = kernels.is_fusing(choice.entry);
    let [mut params, reduction_params] = parameters(description, choice, &mut plan);
    params.extend(eight_bit_parameters(description));
    if takes_fusion {
        params.extend(fusion_parameters(description));
        if description.precision == Precision::F32Split {
            params.push(Param::Null);
        }
    }
    plan.launches.push(PlannedLaunch {
        entry: choice.entry,
        compute_capability: module(choice.entry),
        grid: choice.grid,
        block: Dim3::new(choice.threads, 1, 1),
        cluster: Dim3::new(choice.cluster_size, 1, 1),
        shared_bytes: choice.shared_bytes,
        params,
    });
    plan.launches.extend(choice.reduction.map(|reduction| {
        let [x, y] = reduction.block;
        PlannedLaunch {
            entry: reduction.entry,
            compute_capability: module(reduction.entry),
            grid: reduction.grid,
            block: Dim3::new(x, y, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: reduction_params,
        }
    }));
    let in_terms = kernels.splits_operands && !takes_fusion;
    let fallback = in_terms.then(|| description.problem(device));
    let fallback = fallback.and_then(|problem| kernels.data_parallel_grid(&problem));
    plan.launches.extend(fallback.map(|choice| PlannedLaunch {
        entry: choice.entry,
        compute_capability: module(choice.entry),
        grid: choice.grid,
        block: Dim3::new(choice.threads, 1, 1),
        cluster: Dim3::ONE,
        shared_bytes: choice.shared_bytes,
        params: fallback_parameters(description, &choice),
    }));
    plan
}

/// The parameters of the kernel that computes a product where terms of its operands are not exact.
fn fallback_parameters<T: GemmInput>(
    description: &Description<T>,
    choice: &GemmPlan,
) -> Vec<Param> {
    let mut params = vec![
        Param::Input(0),
        Param::Input(1),
        Param::Output,
        // Tiles that are not split need no workspace.
        Param::Null,
        Param::Product(bytes(&description.params())),
        Param::Bytes(bytes(&grid_scheduler(description, choice))),
    ];
    params.extend(fusion_parameters(description));
    params.push(Param::Workspace);
    params
}

/// The parameters of fused operators, bias and residual.
fn fusion_parameters<T: GemmInput>(description: &Description<T>) -> [Param; 3] {
    let fusion = description.fusion.params(description.c_16bit);
    // Where there is no bias or residual the pointer is not used.
    let pointer = |input: Option<usize>| input.map_or(Param::Output, Param::InputPtr);
    let [bias, residual] = description.fusion.inputs().map(pointer);
    [Param::Bytes(bytes(&fusion)), bias, residual]
}

/// The parameters that kernels of 8-bit elements take behind the others.
fn eight_bit_parameters<T: GemmInput>(description: &Description<T>) -> Vec<Param> {
    match T::EIGHT_BIT {
        None => Vec::new(),
        Some(EightBit::Integer) => vec![Param::U32(description.c_type)],
        Some(EightBit::Float(_)) => {
            let params = description.float8.params(description.c_type);
            let scales = match description.float8.scales {
                Scales::None => [Param::Null, Param::Null],
                _ => [2, 3].map(Param::InputPtr),
            };
            let mut all = vec![Param::Bytes(bytes(&params))];
            all.extend(scales);
            all
        }
    }
}

/// The parameters of the GEMM and of the reduction kernel behind it. The copies that operands need
/// are added to `plan`.
fn parameters<T: GemmInput>(
    description: &Description<T>,
    choice: &GemmPlan,
    plan: &mut Plan,
) -> [Vec<Param>; 2] {
    match &choice.scheduler {
        TileScheduler::Grid => {
            let gemm = Param::Product(bytes(&description.params()));
            let scheduler = grid_scheduler(description, choice);
            // Counters lie before the partial sums.
            let workspace = match choice.zeroed_bytes {
                0 => Param::Workspace,
                bytes => Param::WorkspaceAt(bytes),
            };
            let [a, b] = [0, 1].map(Param::Input);
            [
                vec![
                    a,
                    b,
                    Param::Output,
                    workspace,
                    gemm.clone(),
                    Param::Bytes(bytes(&scheduler)),
                ],
                vec![
                    Param::Workspace,
                    Param::Output,
                    gemm,
                    Param::U32(scheduler.splits),
                ],
            ]
        }
        TileScheduler::Persistent {
            config,
            params,
            boxes,
        } => {
            let oriented =
                Oriented::taken(description, config.layouts.map(|of| of == layout::K_MAJOR));
            // The range of split operands comes before all else.
            let workspace = match description.precision {
                Precision::Native => Param::Workspace,
                Precision::F32Split => {
                    plan.workspace_bytes += RANGE_BYTES;
                    plan.zeroed_bytes += RANGE_BYTES;
                    Param::WorkspaceAt(RANGE_BYTES)
                }
            };
            let maps = Param::TensorMaps(oriented.tensor_maps(boxes, &params.tiles, plan));
            let gemm = Param::Product(bytes(&oriented.product.params()));
            let scheduler = Param::Bytes(bytes(params));
            let common = [Param::Output, workspace, gemm, scheduler];
            let boxes = Param::Bytes(bytes(boxes));
            let is_transposed = Param::U32(oriented.is_transposed.into());
            [
                [&[maps], &common[..], &[boxes]].concat(),
                [&common[..], &[is_transposed]].concat(),
            ]
        }
    }
}

/// The parameters of the tile scheduler whose blocks have a work unit each.
fn grid_scheduler<T: GemmInput>(
    description: &Description<T>,
    choice: &GemmPlan,
) -> GridSchedulerParams {
    let data_parallel = GridSchedulerParams {
        promotion_interval: choice.promotion_interval,
        ..GridSchedulerParams::data_parallel(description.extents[2])
    };
    let [x, y, _] = choice.grid;
    let (scheduler, tiles) = match choice.decomposition {
        Decomposition::DataParallel => (data_parallel, [y, x]),
        Decomposition::SplitK { splits, split_k } => (
            GridSchedulerParams {
                splits,
                k_per_split: split_k,
                ..data_parallel
            },
            [y, x],
        ),
        Decomposition::StreamK(stream_k) => {
            let tiles = stream_k.data_parallel_tiles + stream_k.tiles;
            let tiles_n = stream_k.tiles_n;
            (
                GridSchedulerParams {
                    data_parallel_tiles: stream_k.data_parallel_tiles,
                    stream_k_tiles: stream_k.tiles,
                    stream_k_splits: stream_k.splits,
                    stream_k_first: stream_k.first_split_k,
                    stream_k_rest: stream_k.other_split_k,
                    ..data_parallel
                },
                [tiles / tiles_n, tiles_n].map(u64::from),
            )
        }
    };
    // A grid has at most 2³¹ - 1 blocks in x, and 65535 in y.
    scheduler.with_tiles(tiles.map(|tiles| tiles as u32))
}

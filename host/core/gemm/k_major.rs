//! Products of 8-bit integers by `mma.sync`, whose operands are copied first where that is faster
//! than to load them element by element.

use super::{COMPUTE_CAPABILITY, Description, DeviceLimits, EightBit, GemmInput, plan_choice};
use crate::launch::{Dim3, Param};
use crate::plan::{Plan, PlannedLaunch};
use kernels_gpu::gemm::mma::k_major::{THREADS, TILE_K, TILE_MN};
use kernels_gpu::gemm::planner::KernelSet;

/// The kernel that copies an operand.
pub(super) const ENTRY: &str = "k_major_8";

/// What rows of copies, and copies, begin at multiples of, in bytes.
const ALIGN: u32 = 256;

/// Most blocks of a grid in y.
const MAX_BLOCKS: u64 = 65_535;

/// The launches of a product whose operands that are not K-major are copied first; `None` where
/// there are none, or the product takes less time without.
pub(super) fn plan<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    kernels: &KernelSet,
) -> Option<Plan> {
    let [m, n, k] = description.extents;
    let is_integer = T::EIGHT_BIT == Some(EightBit::Integer);
    let is_empty = m == 0 || n == 0 || k == 0 || description.batch == 0;
    if !is_integer || !kernels.persistent_tiles.is_empty() || is_empty {
        return None;
    }
    let is_copied = [0, 1].map(|side| description.transposed[side] == (side == 0));
    if is_copied == [false; 2] {
        return None;
    }
    let mut copied = *description;
    let mut bytes = [0; 2];
    for side in [0, 1].into_iter().filter(|&side| is_copied[side]) {
        let pitch = k.checked_next_multiple_of(ALIGN)?;
        copied.transposed[side] = side == 1;
        copied.leading[side] = pitch;
        copied.aligned[side] = true;
        // A matrix that the batch shares is copied once.
        if copied.strides[side] != 0 {
            copied.strides[side] = u64::from([m, n][side]) * u64::from(pitch);
        }
        let matrix = u64::from([m, n][side]) * u64::from(pitch);
        bytes[side] = matrix * u64::from(matrices(description, side));
    }
    copied.check().ok()?;
    let copies = bytes.into_iter().filter(|&bytes| bytes > 0);
    let (clocks, choice) =
        kernels.plan_of_copies(&copied.problem(device), copies.map(|bytes| bytes as f64))?;
    let unchanged = kernels.plan_of_copies(&description.problem(device), [].into_iter());
    if unchanged.is_some_and(|(unchanged, _)| unchanged <= clocks) {
        return None;
    }
    let mut plan = plan_choice(&copied, device, &choice);
    let mut launches = Vec::new();
    for side in [0, 1].into_iter().filter(|&side| is_copied[side]) {
        let start = plan.workspace_bytes.next_multiple_of(ALIGN.into());
        plan.workspace_bytes = start + bytes[side];
        launches.push(copy(description, &copied, side, start));
        for launch in &mut plan.launches {
            let operand = |param: &Param| match param {
                Param::Input(input) if *input == side => {
                    vec![Param::WorkspaceAt(start), Param::U64(bytes[side])]
                }
                _ => vec![param.clone()],
            };
            launch.params = launch.params.iter().flat_map(operand).collect();
        }
    }
    launches.append(&mut plan.launches);
    Some(Plan { launches, ..plan })
}

/// Matrices of an operand.
fn matrices<T: GemmInput>(description: &Description<T>, side: usize) -> u32 {
    match description.strides[side] {
        0 => 1,
        _ => description.batch,
    }
}

/// The launch that copies an operand to behind `start` bytes of the workspace.
fn copy<T: GemmInput>(
    from: &Description<T>,
    to: &Description<T>,
    side: usize,
    start: u64,
) -> PlannedLaunch {
    let [rows, columns] = [from.extents[2], from.extents[side]];
    let tiles = |extent: u32, of_tile: usize| u64::from(extent).div_ceil(of_tile as u64);
    PlannedLaunch {
        entry: ENTRY,
        compute_capability: COMPUTE_CAPABILITY,
        grid: [
            tiles(columns, TILE_MN),
            tiles(rows, TILE_K).min(MAX_BLOCKS),
            matrices(from, side).into(),
        ],
        block: Dim3::new(THREADS as u32, 1, 1),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: vec![
            Param::InputPtr(side),
            Param::WorkspaceAt(start),
            Param::U32(rows),
            Param::U32(columns),
            Param::U32(from.leading[side]),
            Param::U32(to.leading[side]),
            Param::U64(from.strides[side]),
            Param::U64(to.strides[side]),
        ],
    }
}

//! Whether operands are copied first, where a product can do without.
//!
//! Products by `mma.sync` are, where that is faster than to take them as they lie. Those by `wgmma`
//! are not, where `mma.sync` is faster with operands as they lie; nor are those of TF32 and of f32
//! in terms, where it is faster to compute them in f32.
//!
//! Operands of 8-bit integers are copied to be K-major, all others so that their rows begin at
//! multiples of 16 bytes.

use super::operand::Oriented;
use super::parameters::bytes;
use super::{COMPUTE_CAPABILITY, Description, DeviceLimits, EightBit, GemmInput, plan_choice};
use crate::launch::{Dim3, Param};
use crate::plan::{Plan, PlannedLaunch};
use kernels_gpu::gemm::mma::k_major::{self, TILE_K, TILE_MN};
use kernels_gpu::gemm::pack_rows::{self, Pack, PackBoth};
use kernels_gpu::gemm::planner::{GemmPlan, GemmProblem, KernelSet, OperandCopies};

/// The kernels that copy an operand.
pub(super) const ENTRIES: [&str; 3] = [K_MAJOR, "pack_rows_16", "pack_rows_32"];

/// The one that copies 8-bit integers.
const K_MAJOR: &str = "k_major_8";

/// What rows of copies, and copies, begin at multiples of, in bytes.
const ALIGN: u32 = 256;

/// Blocks of a copy from which on 32 bits do not count its vectors: see [`pack_rows::copy`].
const MAX_COPY_BLOCKS: u64 = (1 << 32) / (4 * pack_rows::THREADS as u64) - 1;

/// Most blocks of a grid in y.
const MAX_BLOCKS: u64 = 65_535;

/// Bytes of copies below which launches take most of the time, of which a product in f32 has one
/// less at most.
const MIN_COPIED_BYTES: f64 = (1 << 20) as f64;

/// The same bytes of one term, where operands are written in terms: a product in f32 has three
/// launches less.
const MIN_TERM_BYTES: f64 = (1 << 17) as f64;

/// A product without the copies that its kernels ask for.
pub(super) enum Without {
    /// In f32.
    InF32(Description<f32>),
    /// By kernels that take operands as they lie.
    AsTheyLie(Box<GemmPlan>),
}

/// How a product takes less time than the copies that its kernels ask for, and the product by them:
/// `problem` is that of the description.
pub(super) fn faster_without<T: GemmInput>(
    description: &Description<T>,
    problem: &GemmProblem,
    device: DeviceLimits,
    kernels: &KernelSet,
) -> Option<Without> {
    if kernels.persistent_tiles.is_empty() {
        return None;
    }
    let [transposed_a, transposed_b] = problem.transposed;
    let oriented = Oriented::taken(description, [!transposed_a, transposed_b]);
    let copies = oriented.needed_copies();
    // Most products ask for no copies: they are planned once.
    if copies.launches == 0 {
        return None;
    }
    // The costs of kernels that take operands in terms have the launches that write those.
    let counted = match kernels.splits_operands {
        true => OperandCopies::default(),
        false => copies,
    };
    let (clocks, _) = kernels.plan_of_copies(problem, counted)?;
    let in_f32 = in_f32(description, device, kernels, copies.bytes);
    let as_they_lie = as_they_lie(description, device, kernels);
    let all = in_f32.into_iter().chain(as_they_lie);
    let (least, without) = all.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (least < clocks).then_some(without)
}

/// The product in f32, with its predicted clocks, where copies of `bytes` bytes are spared.
fn in_f32<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    kernels: &KernelSet,
    bytes: f64,
) -> Option<(f64, Without)> {
    let in_f32 = T::in_f32(description)?;
    let least = match kernels.splits_operands {
        true => MIN_TERM_BYTES,
        false => MIN_COPIED_BYTES,
    };
    if bytes < least {
        return None;
    }
    let kernels = in_f32.kernels(device).ok()?;
    let (clocks, _) = kernels.plan_of_copies(&in_f32.problem(device), OperandCopies::default())?;
    Some((clocks, Without::InF32(in_f32)))
}

/// The product of operands as they lie, with its predicted clocks.
fn as_they_lie<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    kernels: &KernelSet,
) -> Option<(f64, Without)> {
    let kernels = kernels.as_they_lie?;
    let problem = description.stored_problem(device);
    let (clocks, choice) = kernels.plan_of_copies(&problem, OperandCopies::default())?;
    Some((clocks, Without::AsTheyLie(Box::new(choice))))
}

/// The launches of a product whose operands are copied first; `None` where no copy is needed, or
/// the product takes less time without.
pub(super) fn plan<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    kernels: &KernelSet,
) -> Option<Plan> {
    let [m, n, k] = description.extents;
    let is_empty = m == 0 || n == 0 || k == 0 || description.batch == 0;
    let is_by_warps = kernels.whole_k_tiles && kernels.persistent_tiles.is_empty();
    if !is_by_warps || is_empty {
        return None;
    }
    let is_integer = T::EIGHT_BIT == Some(EightBit::Integer);
    let is_copied = [0, 1].map(|side| match is_integer {
        true => description.transposed[side] == (side == 0),
        false => !description.aligned_rows()[side],
    });
    if is_copied == [false; 2] {
        return None;
    }
    let mut copied = *description;
    let mut sizes = [0; 2];
    for side in [0, 1].into_iter().filter(|&side| is_copied[side]) {
        if is_integer {
            copied.transposed[side] = side == 1;
        }
        let [rows, columns] = stored(&copied, side);
        let pitch = columns.checked_next_multiple_of(ALIGN / size_of::<T>() as u32)?;
        copied.leading[side] = pitch;
        copied.aligned[side] = true;
        let matrix = u64::from(rows) * u64::from(pitch);
        // A matrix that the batch shares is copied once.
        if copied.strides[side] != 0 {
            copied.strides[side] = matrix;
        }
        let size = matrix * size_of::<T>() as u64;
        sizes[side] = size * u64::from(matrices(description, side));
    }
    copied.check().ok()?;
    let copies = OperandCopies {
        bytes: sizes.iter().sum::<u64>() as f64,
        launches: match is_integer {
            true => sizes.iter().filter(|&&size| size > 0).count() as u32,
            false => 1,
        },
    };
    let (clocks, choice) = kernels.plan_of_copies(&copied.problem(device), copies)?;
    let none = OperandCopies::default();
    let unchanged = kernels.plan_of_copies(&description.problem(device), none);
    if unchanged.is_some_and(|(unchanged, _)| unchanged <= clocks) {
        return None;
    }
    let mut plan = plan_choice(&copied, device, &choice);
    let mut starts = [0; 2];
    for side in [0, 1].into_iter().filter(|&side| is_copied[side]) {
        let start = plan.workspace_bytes.next_multiple_of(ALIGN.into());
        plan.workspace_bytes = start + sizes[side];
        starts[side] = start;
        for launch in &mut plan.launches {
            let operand = |param: &Param| match param {
                Param::Input(input) if *input == side => {
                    let elements = sizes[side] / size_of::<T>() as u64;
                    vec![Param::WorkspaceAt(start), Param::U64(elements)]
                }
                _ => vec![param.clone()],
            };
            launch.params = launch.params.iter().flat_map(operand).collect();
        }
    }
    let mut launches = match is_integer {
        true => k_major_copies(description, &copied, is_copied, starts),
        false => vec![row_copies(description, &copied, is_copied, starts)?],
    };
    launches.append(&mut plan.launches);
    Some(Plan { launches, ..plan })
}

/// Rows and columns of a matrix of an operand, as it is stored.
fn stored<T: GemmInput>(description: &Description<T>, side: usize) -> [u32; 2] {
    let [m, n, k] = description.extents;
    let [rows, columns] = [[m, k], [k, n]][side];
    match description.transposed[side] {
        true => [columns, rows],
        false => [rows, columns],
    }
}

/// Matrices of an operand.
fn matrices<T: GemmInput>(description: &Description<T>, side: usize) -> u32 {
    match description.strides[side] {
        0 => 1,
        _ => description.batch,
    }
}

/// The launches that copy operands of 8-bit integers to behind `starts` bytes of the workspace.
fn k_major_copies<T: GemmInput>(
    from: &Description<T>,
    to: &Description<T>,
    is_copied: [bool; 2],
    starts: [u64; 2],
) -> Vec<PlannedLaunch> {
    let tiles = |extent: u32, of_tile: usize| u64::from(extent).div_ceil(of_tile as u64);
    let launch = |side: usize| {
        let [rows, columns] = stored(from, side);
        PlannedLaunch {
            entry: K_MAJOR,
            compute_capability: COMPUTE_CAPABILITY,
            grid: [
                tiles(columns, TILE_MN),
                tiles(rows, TILE_K).min(MAX_BLOCKS),
                matrices(from, side).into(),
            ],
            block: Dim3::new(k_major::THREADS as u32, 1, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: vec![
                Param::InputPtr(side),
                Param::WorkspaceAt(starts[side]),
                Param::U32(rows),
                Param::U32(columns),
                Param::U32(from.leading[side]),
                Param::U32(to.leading[side]),
                Param::U64(from.strides[side]),
                Param::U64(to.strides[side]),
            ],
        }
    };
    let sides = [0, 1].into_iter().filter(|&side| is_copied[side]);
    sides.map(launch).collect()
}

/// The launch that copies the rows of one operand or of both to behind `starts` bytes of the
/// workspace; `None` where the kernel cannot count the vectors of one.
fn row_copies<T: GemmInput>(
    from: &Description<T>,
    to: &Description<T>,
    is_copied: [bool; 2],
    starts: [u64; 2],
) -> Option<PlannedLaunch> {
    let element_bytes = size_of::<T>() as u32;
    let packs = [0, 1].map(|side| {
        let [rows, columns] = stored(from, side);
        Pack {
            rows,
            columns,
            from_pitch: from.leading[side],
            to_pitch: to.leading[side],
            from_stride: from.strides[side],
            to_stride: to.strides[side],
        }
    });
    let blocks = [0, 1].map(|side| match is_copied[side] {
        true => pack_rows::copy_blocks(packs[side].rows, packs[side].to_pitch, element_bytes),
        false => 0,
    });
    if blocks.into_iter().any(|blocks| blocks >= MAX_COPY_BLOCKS) {
        return None;
    }
    let both = PackBoth {
        packs,
        transposed: [0; 2],
        matrices: [0, 1].map(|side| u32::from(is_copied[side]) * matrices(from, side)),
        blocks: blocks.map(|blocks| blocks as u32),
    };
    // Of an operand that is not copied the pointers are not used.
    let [a, b] = [0, 1].map(|side| [Param::InputPtr(side), Param::WorkspaceAt(starts[side])]);
    Some(PlannedLaunch {
        entry: match element_bytes {
            2 => "pack_rows_16",
            _ => "pack_rows_32",
        },
        compute_capability: COMPUTE_CAPABILITY,
        grid: [
            blocks[0] + blocks[1],
            1,
            both.matrices[0].max(both.matrices[1]).into(),
        ],
        block: Dim3::new(pack_rows::THREADS as u32, 1, 1),
        cluster: Dim3::ONE,
        shared_bytes: 0,
        params: [&a[..], &b, &[Param::Bytes(bytes(&both))]].concat(),
    })
}

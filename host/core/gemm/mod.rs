//! GEMM, C ← α · op(A) · op(B) + β · C, as launches: which kernel computes one, and
//! with which parameters.
//!
//! A [`Description`] says what is to be computed, [`DeviceLimits`] where. [`plan`] answers with the
//! launches, whose operands are still symbolic; [`Gpu::gemm`](crate::gpu::Gpu::gemm) gives them
//! memory.

mod input;
pub mod layout;
pub mod tuning;
pub mod wgmma;

pub use input::{GemmElement, GemmInput, GemmInto};

use crate::device::ComputeCapability;
use crate::engine::Engine;
use crate::launch::Dim3;
use crate::launch::Param;
use crate::plan::{Plan, PlannedLaunch};
use kernels_gpu::gemm::planner::GemmProblem;
use kernels_gpu::gemm::planner::kernel_set::{
    DGEMM, DGEMM_90, DGEMM_PORTABLE, OF_BF16, OF_BF16_TO_BF16, OF_F16, OF_F16_TO_F16, SGEMM,
    SGEMM_PORTABLE,
};
use kernels_gpu::gemm::planner::tiles::TilePlan;
use kernels_gpu::gemm::reduction::fix_up::COUNTER_BYTES;
use kernels_gpu::gemm::scheduler::grid::GridSchedulerParams;
use kernels_gpu::gemm::{GemmParams, MAX_LEADING, partial_sums_pitch};
use tuning::Choices;

/// The oldest generation that runs a GEMM.
pub const PORTABLE: ComputeCapability = ComputeCapability::V7_0;

/// The generation that has asynchronous copies, which the faster kernels need.
pub const COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability::V8_0;

/// The generation whose tensor cores have a shape of their own for f64.
const HOPPER: ComputeCapability = ComputeCapability::V9_0;

/// A GEMM of row-major matrices whose A and B are of `T`. A column-major product is the
/// same one with A and B, and m and n, exchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description<T: GemmInput> {
    /// m, n and k: C is m × n, op(A) m × k, op(B) k × n.
    pub extents: [u32; 3],
    /// Whether A is stored as k × m, and B as n × k.
    pub transposed: [bool; 2],
    /// Elements from one row to the next of A, B and C, as they are stored.
    pub leading: [u32; 3],
    /// Products in the batch.
    pub batch: u32,
    /// Elements from one matrix of the batch to the next, of A, B and C.
    pub strides: [u64; 3],
    /// α.
    pub alpha: T::Output,
    /// β. Where it is 0, C is not read.
    pub beta: T::Output,
    /// Whether the first elements of A, B and C lie at multiples of 16 bytes.
    pub aligned: [bool; 3],
    /// Whether C is of `T` as well, to which each element is rounded once, and not of `T::Output`.
    /// It makes no difference where those are the same.
    pub c_16bit: bool,
}

/// Where a product is to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceLimits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Compute capability.
    pub compute_capability: ComputeCapability,
}

impl DeviceLimits {
    /// The device of an engine.
    pub fn of(engine: &dyn Engine) -> Self {
        DeviceLimits {
            multiprocessors: engine.multiprocessors(),
            compute_capability: engine.compute_capability(),
        }
    }

    /// The most dynamic shared memory of a block, in bytes (CUDA programming guide, "Compute
    /// Capabilities").
    pub fn shared_bytes(self) -> u32 {
        let ComputeCapability { major, minor } = self.compute_capability;
        match (major, minor) {
            (8, 0 | 7) => 163 << 10,
            (9, 0) | (10, 0 | 1 | 3) | (11, 0) => 227 << 10,
            _ => 99 << 10,
        }
    }
}

/// Why a product cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The rows of an operand are too far apart.
    #[error(
        "rows of {matrix} are {leading} elements apart, which is more than the {MAX_LEADING} that the kernels take: copy it closer together"
    )]
    Leading {
        /// "A" or "B".
        matrix: &'static str,
        /// Its leading dimension.
        leading: u32,
    },
}

impl<T: GemmInput> Description<T> {
    /// op(A) · op(B) of dense matrices at aligned addresses.
    pub fn dense(extents: [u32; 3], transposed: [bool; 2]) -> Self {
        let dense = GemmParams::<T::Output>::dense(extents, transposed);
        Description {
            extents,
            transposed,
            leading: [dense.lda, dense.ldb, dense.ldc],
            batch: 1,
            strides: [0; 3],
            alpha: dense.alpha,
            beta: dense.beta,
            aligned: [true; 3],
            c_16bit: false,
        }
    }

    /// Whether the kernels can address the operands.
    ///
    /// # Errors
    /// [`PlanError::Leading`].
    pub fn check(&self) -> Result<(), PlanError> {
        let mut operands = ["A", "B"].into_iter().zip(self.leading);
        match operands.find(|(_, leading)| *leading > MAX_LEADING) {
            Some((matrix, leading)) => Err(PlanError::Leading { matrix, leading }),
            None => Ok(()),
        }
    }

    /// Whether the rows of A and of B are of whole vectors of 16 bytes, as far as kernels ask.
    pub fn vectors(&self) -> [bool; 2] {
        let [m, n, k] = self.extents;
        let along = [
            if self.transposed[0] { m } else { k },
            if self.transposed[1] { k } else { n },
        ];
        let per_vector = (16 / size_of::<T>()) as u32;
        // Along k operands are copied by elements: their extent need not be of whole vectors.
        let whole = |operand: usize, is_k_major: bool| {
            self.aligned[operand]
                && self.leading[operand].is_multiple_of(per_vector)
                && (is_k_major || along[operand].is_multiple_of(per_vector))
                && (self.batch == 1 || self.strides[operand].is_multiple_of(per_vector.into()))
        };
        [whole(0, !self.transposed[0]), whole(1, self.transposed[1])]
    }

    /// What the choice of an instance depends on.
    pub fn request(&self, device: DeviceLimits) -> GemmProblem {
        let [m, n, k] = self.extents;
        GemmProblem {
            extents: [m.max(1), n.max(1), k],
            transposed: self.transposed,
            vectors: self.vectors(),
            batch: self.batch,
            multiprocessors: device.multiprocessors.max(1),
            shared_bytes: device.shared_bytes(),
        }
    }
}

/// The launches of a product on a device, by the instance that was measured for it or that the
/// model of their times favours. Inputs 0 and 1 are A and B.
///
/// # Errors
/// See [`PlanError`].
pub fn plan<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    tuned: &Choices,
) -> Result<Plan, PlanError> {
    description.check()?;
    Ok(T::plan(description, device, tuned))
}

/// The launches of a product by an instance that was chosen for the same description and
/// device.
pub fn plan_choice<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    choice: &TilePlan,
) -> Plan {
    let (kernels, tiles) = T::kernels(device.compute_capability, description.c_16bit);
    let [m, n, k] = description.extents;
    let empty = m == 0 || n == 0 || description.batch == 0;
    let grid = |grid: [u64; 3]| if empty { [0; 3] } else { grid };
    let parameters = Param::Product(bytes(&GemmParams {
        m,
        n,
        k,
        lda: description.leading[0],
        ldb: description.leading[1],
        ldc: description.leading[2],
        transpose_a: description.transposed[0].into(),
        transpose_b: description.transposed[1].into(),
        stride_a: description.strides[0],
        stride_b: description.strides[1],
        stride_c: description.strides[2],
        alpha: description.alpha,
        beta: description.beta,
    }));
    let scheduler = GridSchedulerParams {
        splits: choice.splits,
        k_per_split: choice.k_per_split,
        data_parallel_tiles: choice
            .stream_k
            .map_or(u32::MAX, |stream_k| stream_k.data_parallel_tiles),
        stream_k_tiles: choice.stream_k.map_or(1, |stream_k| stream_k.tiles),
        stream_k_splits: choice.stream_k.map_or(1, |stream_k| stream_k.splits),
        stream_k_first: choice.stream_k.map_or(k, |stream_k| stream_k.first_split_k),
        stream_k_rest: choice.stream_k.map_or(0, |stream_k| stream_k.other_split_k),
        promotion_interval: choice.promotion_interval,
    };
    // Elements in the workspace of tiles whose splits are reduced in the same launch.
    let reduced = choice
        .gemv_workspace
        .or(choice.stream_k.map(|stream_k| stream_k.workspace_elements));
    let mut launches = vec![PlannedLaunch {
        entry: choice.entry,
        compute_capability: if kernels
            .portable_entries()
            .any(|entry| entry == choice.entry)
        {
            PORTABLE
        } else {
            tiles
        },
        grid: grid(choice.grid),
        block: Dim3::new(choice.threads, 1, 1),
        cluster: Dim3::ONE,
        shared_bytes: choice.shared_bytes,
        params: vec![
            Param::Input(0),
            Param::Input(1),
            Param::Output,
            // Counts of arrivals lie before what the splits accumulated.
            match reduced {
                Some(_) => Param::WorkspaceAt(COUNTER_BYTES as u64),
                None => Param::Workspace,
            },
            parameters.clone(),
            Param::Bytes(bytes_of_scheduler(&scheduler)),
        ],
    }];
    let zeroed_bytes = reduced.map_or(0, |_| COUNTER_BYTES as u64);
    let mut workspace_bytes = zeroed_bytes + reduced.unwrap_or(0) * size_of::<T::Output>() as u64;
    if choice.splits > 1 && choice.gemv_workspace.is_none() {
        let (blocks, [width, lanes]) =
            kernels.reduce_launch(description.extents, description.batch, choice.splits);
        launches.push(PlannedLaunch {
            entry: kernels.reduce,
            compute_capability: PORTABLE,
            grid: grid(blocks),
            block: Dim3::new(width, lanes, 1),
            cluster: Dim3::ONE,
            shared_bytes: 0,
            params: vec![
                Param::Workspace,
                Param::Output,
                parameters,
                Param::U32(choice.splits),
            ],
        });
        let rows = u64::from(m) * u64::from(choice.splits) * u64::from(description.batch);
        workspace_bytes = rows * partial_sums_pitch(n) as u64 * size_of::<T::Output>() as u64;
    }
    Plan {
        launches,
        workspace_bytes,
        zeroed_bytes,
    }
}

/// The parameters as the kernel reads them.
fn bytes<T: GemmElement>(gemm: &GemmParams<T>) -> Vec<u8> {
    const { assert!(size_of::<GemmParams<T>>() == 8 * 4 + 3 * 8 + 2 * size_of::<T>()) };
    // SAFETY: a `repr(C)` struct without padding, by the assertion, is as many initialised bytes.
    unsafe {
        std::slice::from_raw_parts(
            std::ptr::from_ref(gemm).cast::<u8>(),
            size_of::<GemmParams<T>>(),
        )
    }
    .to_vec()
}

/// See [`bytes`].
fn bytes_of_scheduler(scheduler: &GridSchedulerParams) -> Vec<u8> {
    const { assert!(size_of::<GridSchedulerParams>() == 8 * 4) };
    let GridSchedulerParams {
        splits,
        k_per_split,
        data_parallel_tiles,
        stream_k_tiles,
        stream_k_splits,
        stream_k_first,
        stream_k_rest,
        promotion_interval,
    } = *scheduler;
    bytemuck::bytes_of(&[
        splits,
        k_per_split,
        data_parallel_tiles,
        stream_k_tiles,
        stream_k_splits,
        stream_k_first,
        stream_k_rest,
        promotion_interval,
    ])
    .to_vec()
}

/// All kernels that a product may be planned with, each with the compute capability of its module.
pub fn entries() -> impl Iterator<Item = (&'static str, ComputeCapability)> {
    let tiles = [
        (SGEMM, COMPUTE_CAPABILITY),
        (DGEMM, COMPUTE_CAPABILITY),
        (DGEMM_90, HOPPER),
        (SGEMM_PORTABLE, PORTABLE),
        (DGEMM_PORTABLE, PORTABLE),
        (OF_F16, PORTABLE),
        (OF_BF16, PORTABLE),
        (OF_F16_TO_F16, PORTABLE),
        (OF_BF16_TO_BF16, PORTABLE),
    ];
    let tiles = tiles.into_iter().flat_map(|(kernels, capability)| {
        let tiles = kernels.tiles.iter();
        tiles.map(move |tile| (tile.entry, capability))
    });
    let portable = [SGEMM, DGEMM, OF_F16_TO_F16, OF_BF16_TO_BF16];
    let portable = portable.into_iter().flat_map(|kernels| {
        let entries: Vec<&str> = kernels.portable_entries().collect();
        entries
    });
    tiles.chain(portable.map(|entry| (entry, PORTABLE)))
}

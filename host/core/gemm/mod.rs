//! GEMM, C ← α · op(A) · op(B) + β · C, as launches: which kernel computes one, and
//! with which parameters.
//!
//! A [`Description`] says what is to be computed, [`DeviceLimits`] where. The
//! [planner](kernels_gpu::gemm::planner) chooses a kernel for that. [`plan`] answers with the
//! launches, whose operands are still symbolic; [`Gpu::gemm`](crate::gpu::Gpu::gemm) gives them
//! memory.

mod copied;
mod copies;
pub mod float8;
mod input;
pub mod layout;
mod operand;
pub mod options;
#[cfg(test)]
mod tests;
pub mod tuning;

pub use float8::{E4m3, E5m2, Float8, Float8Format, Float8Operands, Scales};
pub use input::{EightBit, GemmElement, GemmInput, GemmInto, Tf32};
pub use options::{Activation, BiasAxis, Fusion, Precision};

use crate::device::ComputeCapability;
use crate::engine::Engine;
use crate::launch::{Dim3, Param};
use crate::plan::{Plan, PlannedLaunch};
use crate::ptx;
use copies::PACK_KERNELS;
use kernels_gpu::gemm::epilogue::convert::c_type;
use kernels_gpu::gemm::epilogue::fusion::FusionParams;
use kernels_gpu::gemm::mma::split::RANGE_BYTES;
use kernels_gpu::gemm::planner::{
    Decomposition, GemmPlan, GemmProblem, KernelSet, TileScheduler, kernel_set,
};
use kernels_gpu::gemm::scheduler::grid::GridSchedulerParams;
use kernels_gpu::gemm::scheduler::persistent::TileSchedulerParams;
use kernels_gpu::gemm::wgmma::float8::Float8Params;
use kernels_gpu::gemm::wgmma::pack::{Pack, PackBoth};
use kernels_gpu::gemm::{GemmParams, MAX_LEADING};
use operand::Oriented;
use tuning::{Choices, ProblemKey};

/// The oldest generation that runs a GEMM.
pub const PORTABLE: ComputeCapability = ComputeCapability::V7_0;

/// The generation that has asynchronous copies, which the faster kernels need.
pub const COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability::V8_0;

/// The generation that has `wgmma`, and an MMA shape of its own for f64.
pub const HOPPER: ComputeCapability = ComputeCapability::V9_0;

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
    /// It makes no difference where those are the same. For 8-bit elements: whether C is of 16
    /// bits.
    pub c_16bit: bool,
    /// For 8-bit elements: the type of C, a constant of
    /// [`c_type`].
    pub c_type: u32,
    /// For 8-bit floats: formats, accumulation and scales.
    pub float8: Float8Operands,
    /// How f32 is multiplied.
    pub precision: Precision,
    /// Operators that are fused with the product.
    pub fusion: Fusion,
}

/// Where a product is to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceLimits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// The generation of GPUs whose kernels compute the product, by its compute capability: that of
    /// the device, or an older one.
    pub generation: ComputeCapability,
}

impl DeviceLimits {
    /// A device that runs the kernels of its own generation.
    pub fn new(multiprocessors: u32, compute_capability: ComputeCapability) -> Self {
        DeviceLimits {
            multiprocessors,
            compute_capability,
            generation: compute_capability,
        }
    }

    /// The device of an engine.
    pub fn of(engine: &dyn Engine) -> Self {
        DeviceLimits::new(engine.multiprocessors(), engine.compute_capability())
    }

    /// The same device with the kernels of the generation `asked` for; with its own where none is.
    ///
    /// # Errors
    /// [`PlanError::Generation`] where it is newer than the device, older than all kernels, or has
    /// kernels that run on no other.
    pub fn with_generation(self, asked: Option<ComputeCapability>) -> Result<Self, PlanError> {
        let device = self.compute_capability;
        let Some(asked) = asked else {
            return Ok(DeviceLimits {
                generation: device,
                ..self
            });
        };
        let mut modules = ptx::MODULES.iter();
        let is_lacking = modules.any(|module| module.runs_on(asked) && !module.runs_on(device));
        if asked > device || asked < PORTABLE || is_lacking {
            return Err(PlanError::Generation { asked, device });
        }
        Ok(DeviceLimits {
            generation: asked,
            ..self
        })
    }

    /// The most dynamic shared memory of a block that the device has and that its generation of
    /// kernels is planned for, in bytes.
    pub fn shared_bytes(self) -> u32 {
        let [device, generation] = [self.compute_capability, self.generation].map(shared_bytes);
        device.min(generation)
    }
}

/// The most dynamic shared memory of a block, in bytes (CUDA programming guide, "Compute
/// Capabilities").
fn shared_bytes(capability: ComputeCapability) -> u32 {
    match (capability.major, capability.minor) {
        (7, 5) => 64 << 10,
        (7, _) => 96 << 10,
        (8, 0 | 7) => 163 << 10,
        (9, 0) | (10, 0 | 1 | 3) | (11, 0) => 227 << 10,
        _ => 99 << 10,
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
    /// No kernels of a generation run on the device.
    #[error(
        "a device of compute capability {device} does not run the kernels for {asked}: ask for \
         {device}, or for an older generation from {PORTABLE} on"
    )]
    Generation {
        /// What was asked for.
        asked: ComputeCapability,
        /// The device's.
        device: ComputeCapability,
    },
    /// No kernel multiplies the elements.
    #[error(
        "no kernel multiplies {element} on compute capability {capability}: i8 needs 8.0 or later, \
         8-bit floats need 9.0; convert them to f16 or bf16"
    )]
    Element {
        /// Element type of A and B.
        element: &'static str,
        /// The device's, or what was asked for.
        capability: ComputeCapability,
    },
    /// Integers are not scaled.
    #[error(
        "α is {alpha} and β is {beta} in a product into i32, which is not scaled: take α of 1, and β \
         of 0 or 1, or a C of floats"
    )]
    Factors {
        /// α.
        alpha: String,
        /// β.
        beta: String,
    },
    /// Only 8-bit floats have scales.
    #[error("operands of {element} have no scales: multiply α by them, or take 8-bit floats")]
    Scales {
        /// Element type of A and B.
        element: &'static str,
    },
    /// No kernel has the precision.
    #[error(
        "no kernel splits {element} into terms on compute capability {capability}: take f32 on 8.0 \
         or later, or `Precision::Native`"
    )]
    Precision {
        /// Element type of A and B.
        element: &'static str,
        /// The device's, or what was asked for.
        capability: ComputeCapability,
    },
    /// No kernel fuses operators with the product.
    #[error(
        "no kernel fuses operators with products of {element} on compute capability {capability}: \
         take f16, bf16 or TF32 on 8.0 or later, or apply them to C"
    )]
    Fusion {
        /// Element type of A and B.
        element: &'static str,
        /// The device's, or what was asked for.
        capability: ComputeCapability,
    },
    /// C has more tiles than a grid takes.
    #[error(
        "no kernel takes m, n and k of {extents:?}, {batch} in the batch: multiply parts of it"
    )]
    TooLarge {
        /// m, n and k.
        extents: [u32; 3],
        /// Products in the batch.
        batch: u32,
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
            c_type: c_type::F32,
            float8: Float8Operands {
                formats: match T::EIGHT_BIT {
                    Some(EightBit::Float(format)) => [format; 2],
                    _ => Default::default(),
                },
                ..Default::default()
            },
            precision: Precision::Native,
            fusion: Fusion::default(),
        }
    }

    /// The kernels for it on a device.
    ///
    /// # Errors
    /// [`PlanError::Element`], [`PlanError::Precision`], [`PlanError::Fusion`].
    pub fn kernels(&self, device: DeviceLimits) -> Result<&'static KernelSet, PlanError> {
        let capability = device.generation;
        let element = T::NAME;
        if !T::is_supported(capability) {
            return Err(PlanError::Element {
                element,
                capability,
            });
        }
        let kernels = match self.precision {
            Precision::Native => {
                let of_float8 = T::float8_kernels(&self.float8, self.c_16bit);
                of_float8.unwrap_or_else(|| T::kernels(capability, self.c_16bit))
            }
            Precision::F32Split => T::split_kernels(capability).ok_or(PlanError::Precision {
                element: T::NAME,
                capability,
            })?,
        };
        if self.fusion.is_none() || kernels.fuses() {
            return Ok(kernels);
        }
        T::fusing_kernels(capability, self.c_16bit).ok_or(PlanError::Fusion {
            element: T::NAME,
            capability,
        })
    }

    /// Whether the kernels can address the operands, and have the factors and scales.
    ///
    /// # Errors
    /// [`PlanError::Factors`], [`PlanError::Scales`], [`PlanError::Leading`].
    pub fn check(&self) -> Result<(), PlanError> {
        let [alpha, beta]: [f64; 2] = [self.alpha.into(), self.beta.into()];
        if self.c_type == c_type::I32 && (alpha != 1.0 || beta != 0.0 && beta != 1.0) {
            let [alpha, beta] = [alpha, beta].map(|factor| factor.to_string());
            return Err(PlanError::Factors { alpha, beta });
        }
        let has_scales = self.float8.scales != Scales::None;
        if has_scales && !matches!(T::EIGHT_BIT, Some(EightBit::Float(_))) {
            return Err(PlanError::Scales { element: T::NAME });
        }
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
            self.rows_begin_at(operand, per_vector)
                && (is_k_major || along[operand].is_multiple_of(per_vector))
        };
        [whole(0, !self.transposed[0]), whole(1, self.transposed[1])]
    }

    /// Whether the rows of A and of B, as they are stored, start at multiples of 16 bytes.
    pub fn aligned_rows(&self) -> [bool; 2] {
        let per_vector = (16 / size_of::<T>()) as u32;
        [0, 1].map(|operand| self.rows_begin_at(operand, per_vector))
    }

    /// Whether the rows of A, B or C, and the matrices of a batch, begin at multiples of `elements`
    /// elements, and the first one at one of 16 bytes.
    fn rows_begin_at(&self, matrix: usize, elements: u32) -> bool {
        self.aligned[matrix]
            && self.leading[matrix].is_multiple_of(elements)
            && (self.batch == 1 || self.strides[matrix].is_multiple_of(elements.into()))
    }

    /// Bytes of an element of C.
    fn output_bytes(&self) -> u32 {
        match self.c_16bit {
            true if size_of::<T>() < size_of::<T::Output>() => size_of::<u16>() as u32,
            _ => size_of::<T::Output>() as u32,
        }
    }

    /// Whether the rows of C start at multiples of a vector of four elements, or of 16 bytes.
    fn c_vectors(&self) -> bool {
        self.rows_begin_at(2, (16 / self.output_bytes()).min(4))
    }

    /// What the choice of a kernel depends on.
    pub fn problem(&self, device: DeviceLimits) -> GemmProblem {
        let [m, n, k] = self.extents;
        let problem = GemmProblem {
            extents: [m.max(1), n.max(1), k],
            transposed: self.transposed,
            vectors: self.vectors(),
            aligned_rows: self.aligned_rows(),
            row_alignment: [16; 2],
            fused: !self.fusion.is_none(),
            c_vectors: self.c_vectors(),
            tma_store: false,
            batch: self.batch,
            multiprocessors: device.multiprocessors.max(1),
            shared_bytes: device.shared_bytes(),
        };
        // Where there are no kernels, `plan` says so.
        match self.kernels(device) {
            Ok(kernels) if kernels.splits_operands => GemmProblem {
                // Whole vectors of terms: the split kernel makes them.
                vectors: [true; 2],
                tma_store: Oriented::of(self).problem(problem).tma_store,
                ..problem
            },
            Ok(kernels) if !kernels.persistent_tiles.is_empty() => {
                Oriented::of(self).problem(problem)
            }
            _ => problem,
        }
    }

    /// The parameters of the problem, as kernels take them.
    fn params(&self) -> GemmParams<T::Output> {
        let [lda, ldb, ldc] = self.leading;
        let [stride_a, stride_b, stride_c] = self.strides;
        GemmParams {
            lda,
            ldb,
            ldc,
            stride_a,
            stride_b,
            stride_c,
            alpha: self.alpha,
            beta: self.beta,
            ..GemmParams::dense(self.extents, self.transposed)
        }
    }
}

/// The launches of a product on a device, by the plan that was measured for it or that has the
/// least predicted time. Inputs 0 and 1 are A and B.
///
/// # Errors
/// See [`PlanError`].
pub fn plan<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
    tuned: &Choices,
) -> Result<Plan, PlanError> {
    description.check()?;
    let kernels = description.kernels(device)?;
    let problem = description.problem(device);
    let measured = tuned.get(&ProblemKey::of(description)).and_then(|tuned| {
        let mut candidates = kernels.candidates(&problem);
        candidates.find(|(_, choice)| tuned.is(choice))
    });
    if measured.is_none() {
        if let Some(in_f32) = copied::faster_in_f32(description, device, kernels) {
            return plan(&in_f32, device, tuned);
        }
        if let Some(plan) = copied::plan(description, device, kernels) {
            return Ok(plan);
        }
    }
    let choice = measured.map(|(_, choice)| choice);
    let choice = choice.or_else(|| kernels.plan(&problem));
    let choice = choice.ok_or(PlanError::TooLarge {
        extents: description.extents,
        batch: description.batch,
    })?;
    Ok(plan_choice(description, device, &choice))
}

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
        TileScheduler::Persistent { config, params } => {
            let oriented = Oriented::of(description);
            // The range of split operands comes before all else.
            let workspace = match description.precision {
                Precision::Native => Param::Workspace,
                Precision::F32Split => {
                    plan.workspace_bytes += RANGE_BYTES;
                    plan.zeroed_bytes += RANGE_BYTES;
                    Param::WorkspaceAt(RANGE_BYTES)
                }
            };
            let maps = [Param::TensorMaps(oriented.tensor_maps(config, plan))];
            let gemm = Param::Product(bytes(&oriented.product.params()));
            let scheduler = Param::Bytes(bytes(params));
            let common = [Param::Output, workspace, gemm, scheduler];
            let [bm, bn, _] = config.tile;
            let tile = [bm, bn, oriented.is_transposed.into()].map(Param::U32);
            [[&maps[..], &common].concat(), [&common[..], &tile].concat()]
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
    match choice.decomposition {
        Decomposition::DataParallel => data_parallel,
        Decomposition::SplitK { splits, split_k } => GridSchedulerParams {
            splits,
            k_per_split: split_k,
            ..data_parallel
        },
        Decomposition::StreamK(stream_k) => GridSchedulerParams {
            data_parallel_tiles: stream_k.data_parallel_tiles,
            stream_k_tiles: stream_k.tiles,
            stream_k_splits: stream_k.splits,
            stream_k_first: stream_k.first_split_k,
            stream_k_rest: stream_k.other_split_k,
            ..data_parallel
        },
    }
}

/// Parameters that a kernel takes by value.
///
/// # Safety
/// The type is `repr(C)`, and has no padding.
unsafe trait ByValue: Copy {}

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl<T: GemmElement> ByValue for GemmParams<T> {}
const _: () = assert!(size_of::<GemmParams<f32>>() == 8 * 4 + 3 * 8 + 2 * 4);
const _: () = assert!(size_of::<GemmParams<f64>>() == 8 * 4 + 3 * 8 + 2 * 8);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for GridSchedulerParams {}
const _: () = assert!(size_of::<GridSchedulerParams>() == 8 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for FusionParams {}
const _: () = assert!(size_of::<FusionParams>() == 4 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for TileSchedulerParams {}
const _: () = assert!(size_of::<TileSchedulerParams>() == 8 * 4);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for Float8Params {}
const _: () = assert!(size_of::<Float8Params>() == 10 * 4 + 2 * 8);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for Pack {}
const _: () = assert!(size_of::<Pack>() == 4 * 4 + 2 * 8);

// SAFETY: it is `repr(C)`, and its size is that of its fields.
unsafe impl ByValue for PackBoth {}
const _: () = assert!(size_of::<PackBoth>() == 2 * size_of::<Pack>() + 6 * 4);

/// The parameters as the kernel reads them.
fn bytes<P: ByValue>(params: &P) -> Vec<u8> {
    let start = std::ptr::from_ref(params).cast::<u8>();
    // SAFETY: without padding, all of its bytes are initialised.
    unsafe { std::slice::from_raw_parts(start, size_of::<P>()) }.to_vec()
}

/// All kernels that a product may be planned with, each with the compute capability of its module.
pub fn entries() -> impl Iterator<Item = (&'static str, ComputeCapability)> {
    let kernels = kernel_set::ALL.iter().flat_map(|kernels| kernels.entries());
    kernels
        .map(|(entry, capability)| (entry, capability.into()))
        .chain(PACK_KERNELS.map(|entry| (entry, HOPPER)))
        .chain(copied::ENTRIES.map(|entry| (entry, COMPUTE_CAPABILITY)))
}

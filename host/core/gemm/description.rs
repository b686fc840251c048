//! What is to be computed, and what the choice of a kernel depends on.

use super::float8::{Float8Operands, Scales};
use super::operand::Oriented;
use super::{DeviceLimits, EightBit, Fusion, GemmInput, PlanError, Precision};
use kernels_gpu::gemm::epilogue::convert::c_type;
use kernels_gpu::gemm::planner::{self, GemmProblem, KernelSet};
use kernels_gpu::gemm::{GemmParams, MAX_LEADING};

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

    /// The same product with operands that any kernel takes as they lie, where k is 0: they have no
    /// elements.
    pub(super) fn without_elements_k_major(&self) -> Self {
        let transposed = match self.extents[2] {
            0 => [false, true],
            _ => self.transposed,
        };
        Description {
            transposed,
            ..*self
        }
    }

    /// Whether the rows of A, B or C, and the matrices of a batch, begin at multiples of `elements`
    /// elements, and the first one at one of 16 bytes.
    pub(super) fn rows_begin_at(&self, matrix: usize, elements: u32) -> bool {
        self.aligned[matrix]
            && self.leading[matrix].is_multiple_of(elements)
            && (self.batch == 1 || self.strides[matrix].is_multiple_of(elements.into()))
    }

    /// [`planner::row_alignment`] of A or B as it is stored.
    fn row_alignment(&self, matrix: usize) -> u32 {
        planner::row_alignment(u64::from(self.leading[matrix]) * size_of::<T>() as u64)
    }

    /// Bytes of an element of C.
    pub(super) fn output_bytes(&self) -> u32 {
        match self.c_16bit {
            true if size_of::<T>() < size_of::<T::Output>() => size_of::<u16>() as u32,
            _ => size_of::<T::Output>() as u32,
        }
    }

    /// Whether the rows of C start at multiples of a vector of four elements, or of 16 bytes.
    fn c_vectors(&self) -> bool {
        self.rows_begin_at(2, (16 / self.output_bytes()).min(4))
    }

    /// What the choice of a kernel depends on, of operands as they lie.
    pub(super) fn stored_problem(&self, device: DeviceLimits) -> GemmProblem {
        let [m, n, k] = self.extents;
        GemmProblem {
            extents: [m.max(1), n.max(1), k],
            transposed: self.transposed,
            vectors: self.vectors(),
            aligned_rows: self.aligned_rows(),
            row_alignment: [0, 1].map(|side| self.row_alignment(side)),
            fused: !self.fusion.is_none(),
            c_vectors: self.c_vectors(),
            tma_store: false,
            batch: self.batch,
            multiprocessors: device.multiprocessors.max(1),
            active_clusters: device.active_clusters,
            shared_bytes: device.shared_bytes(),
        }
    }

    /// What the choice of a kernel depends on.
    pub fn problem(&self, device: DeviceLimits) -> GemmProblem {
        let problem = self.stored_problem(device);
        // Where there are no kernels, `plan` says so.
        match self.kernels(device) {
            Ok(kernels) if kernels.splits_operands => GemmProblem {
                // Whole vectors of terms: the split kernel makes them.
                vectors: [true; 2],
                tma_store: Oriented::of(self).problem(problem).tma_store,
                ..problem
            },
            Ok(kernels) if !kernels.persistent_tiles.is_empty() => {
                Oriented::fastest(self, kernels, problem).problem(problem)
            }
            _ => problem,
        }
    }

    /// The parameters of the problem, as kernels take them.
    pub(super) fn params(&self) -> GemmParams<T::Output> {
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

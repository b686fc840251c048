//! Why a product cannot be planned.

use super::PORTABLE;
use crate::device::ComputeCapability;
use kernels_gpu::gemm::MAX_LEADING;

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

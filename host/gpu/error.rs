//! What goes wrong.

use super::Layout;
use crate::engine::EngineError;
use crate::gemm::PlanError;

/// What went wrong. The message is one line: what, with which values, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The sizes of a product do not match.
    #[error(
        "cannot multiply {} x {} by {} x {} into {} x {}: {advice}",
        .a[0], .a[1], .b[0], .b[1], .c[0], .c[1]
    )]
    Product {
        /// Rows and columns of A.
        a: [usize; 2],
        /// Rows and columns of B.
        b: [usize; 2],
        /// Rows and columns of C.
        c: [usize; 2],
        /// What must hold.
        advice: &'static str,
    },
    /// Batches of different lengths.
    #[error(
        "batches of {a}, {b} and {c} matrices: all three must have as many, or one that serves for all"
    )]
    Batch {
        /// Matrices A.
        a: usize,
        /// Matrices B.
        b: usize,
        /// Matrices C.
        c: usize,
    },
    /// A layout that an array cannot have.
    #[error("{layout} cannot be laid over {len} elements: {why}")]
    Layout {
        /// The layout.
        layout: Layout,
        /// Elements of the array.
        len: usize,
        /// What does not fit.
        why: &'static str,
    },
    /// A number that kernels have 32 bits for.
    #[error(
        "{what} is {value}, the kernels count up to {}: split the product",
        u32::MAX
    )]
    TooLarge {
        /// Which number.
        what: &'static str,
        /// It.
        value: usize,
    },
    /// An array of another device.
    #[error("{matrix} is not on this device: upload it with the same `Gpu`")]
    Foreign {
        /// "A", "B" or "C".
        matrix: &'static str,
    },
    /// No kernel computes this.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device, or the emulator, refused something or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

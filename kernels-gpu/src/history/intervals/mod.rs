//! Source 002, interval analysis: many small matrix-vector products in three ways.
//!
//! | file | rungs |
//! |---|---|
//! | [`matvec_lcs`](mod@matvec_lcs) | `matvec_lcs`, … |
//! | [`matvec_interleaved`](mod@matvec_interleaved) | `matvec_interleaved`, … |
//! | [`matvec_thread_per_element`](mod@matvec_thread_per_element) | `matvec_thread_per_element`, … |
//!
//! The operands lie as [`matvec`](crate::ladder::matvec) says.
//!
//! Each exists for M = N = 16 under its plain name, for other square sizes with the size as a
//! suffix, and as `_any` for every M and N up to 32: there the loops are unrolled to 32 with a test
//! in each round.

use crate::geometry::Geometry;
use crate::ladder::matvec::{BLOCK, Matrix};

/// Largest M and N.
pub const MAX: usize = 32;

/// One grid-stride loop over the vectors (or over their elements).
pub const GEOMETRY: Geometry = Geometry::GridStride {
    block: BLOCK as u32,
};

/// The size of a product: what a kernel is told at run time, or knows when it is compiled.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// Rows of the matrix, elements of a product.
    m: usize,
    /// Columns of the matrix, elements of a vector.
    n: usize,
}

/// The matrix parameter as a body takes it.
///
/// `constant`: a reference. Every index is known when the kernel is compiled, so each element is an
/// operand from the constant bank.
///
/// `indexed`: a function of row and column, for indices that differ from thread to thread. rustc
/// takes an aggregate parameter apart into its elements; indexing those at run time would put a
/// copy into local memory. The parameter space itself can be indexed (PTX ISA, "ld.param").
macro_rules! matrix_operand {
    (constant, $kernel:ident, $matrix:ident) => {
        &$matrix.0
    };
    (indexed, $kernel:ident, $matrix:ident) => {
        |row: usize, column: usize| -> f32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let columns = $matrix.0[0].len();
                let element: f32;
                // SAFETY: the bodies call it with row < M and column < N only, so the address is
                // inside of the matrix, which is the kernel's first parameter.
                unsafe {
                    ::core::arch::asm!(
                        "{{ .reg .b64 address;",
                        concat!("mov.b64 address, ", stringify!($kernel), "_param_0;"),
                        "add.s64 address, address, {offset}; ld.param.b32 {element}, [address]; }}",
                        offset = in(reg64) (row * columns + column) * size_of::<f32>(),
                        element = out(reg32) element,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                element
            }
            #[cfg(not(target_arch = "nvptx64"))]
            $matrix.0[row][column]
        }
    };
}

/// The kernels of one rung: an instance of its body for each square size, and one for any size.
///
/// The body is called with the size, the matrix as [`matrix_operand`] gives it, the input and the
/// output. Its first two const parameters are the largest M and N.
macro_rules! matvec_kernels {
    ($body:ident($operand:ident), $doc:literal: $any:ident $(, $name:ident = $size:literal)*) => {
        $(
            #[doc = $doc]
            ///
            /// # Safety
            /// `input` and `output` are device arrays of the same number of whole vectors; the grid
            /// and block are one-dimensional, of at least as many threads as the matrix has rows.
            #[cuda_std::kernel(max_threads = super::BLOCK as u32, min_blocks = 1)]
            pub unsafe fn $name(
                matrix: super::Matrix<$size, $size>,
                input: &[f32],
                output: *mut f32,
            ) {
                let size = super::Size { m: $size, n: $size };
                let operand = matrix_operand!($operand, $name, matrix);
                // SAFETY: the body's arrays and grid are this kernel's, whose contract is the
                // body's.
                unsafe { $body::<$size, $size>(size, operand, input, output) }
            }
        )*

        #[doc = $doc]
        ///
        /// For any `m` and `n` up to 32; the matrix is the upper left corner of its parameter.
        ///
        /// # Safety
        /// As for the other sizes, with `m` and `n` from 1 to 32.
        #[cuda_std::kernel(max_threads = super::BLOCK as u32, min_blocks = 1)]
        pub unsafe fn $any(
            matrix: super::Matrix<{ super::MAX }, { super::MAX }>,
            input: &[f32],
            output: *mut f32,
            m: u32,
            n: u32,
        ) {
            let size = super::Size { m: m as usize, n: n as usize };
            let operand = matrix_operand!($operand, $any, matrix);
            // SAFETY: the body's contract is this kernel's.
            unsafe { $body::<{ super::MAX }, { super::MAX }>(size, operand, input, output) }
        }
    };
}

pub mod matvec_interleaved;
pub mod matvec_lcs;
pub mod matvec_thread_per_element;

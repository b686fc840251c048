//! Many small matrix-vector products: the same M × N matrix times each of many vectors.
//!
//! | file | rungs |
//! |---|---|
//! | [`matvec_lcs`](mod@matvec_lcs) | `matvec_lcs`, … |
//! | [`matvec_interleaved`](mod@matvec_interleaved) | `matvec_interleaved`, … |
//! | [`matvec_thread_per_element`](mod@matvec_thread_per_element) | `matvec_thread_per_element`, … |
//! | [`matvec_fast`](mod@matvec_fast) | `matvec_fast` |
//!
//! Vector h is `input[h N .. (h + 1) N]`, its product `output[h M .. (h + 1) M]`. The matrix is a kernel parameter
//! passed by value, so it lies in the constant bank, and a multiply-add takes an element of it as an operand.
//!
//! Each of the first three exists for M = N = 16 under its plain name, for other square sizes with the size as a suffix, and as
//! `_any` for every M and N up to 32: there the loops are unrolled to 32 with a test in each round.

use crate::geometry::Geometry;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Largest M and N.
pub const MAX: usize = 32;

/// One grid-stride loop over the vectors (or over their elements).
pub const GEOMETRY: Geometry = Geometry::GridStride {
    block: BLOCK as u32,
};

/// An M × N matrix, row-major, as a kernel parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Matrix<const M: usize, const N: usize>(pub [[f32; N]; M]);

/// The size of a product: what a kernel is told at run time, or knows when it is compiled.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// Rows of the matrix, elements of a product.
    m: usize,
    /// Columns of the matrix, elements of a vector.
    n: usize,
}

/// An element of the matrix parameter at an index that is not known when the kernel is compiled.
///
/// rustc takes an aggregate parameter apart into its elements; indexing it at run time would put a copy into
/// local memory. The parameter space itself can be indexed (PTX ISA, "ld.param").
macro_rules! matrix_element {
    ($kernel:ident, $matrix:ident) => {
        |row: usize, column: usize| -> f32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let columns = $matrix.0[0].len();
                let element: f32;
                // SAFETY: row and column are inside of the matrix, which is the first parameter.
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
/// The body is called with the size, a function that gives an element of the matrix, the input and the output;
/// its const parameters are the largest M and N.
macro_rules! matvec_kernels {
    ($body:ident, $doc:literal: $any:ident $(, $name:ident = $size:literal)*) => {
        $(
            #[doc = $doc]
            ///
            /// # Safety
            /// `input` and `output` are device arrays of as many whole vectors; the grid and block are
            /// one-dimensional, of at least as many threads as the matrix has rows.
            #[cuda_std::kernel(max_threads = super::BLOCK as u32, min_blocks = 1)]
            pub unsafe fn $name(
                matrix: $crate::matvec::Matrix<$size, $size>,
                input: &[f32],
                output: *mut f32,
            ) {
                let size = super::Size { m: $size, n: $size };
                let element = matrix_element!($name, matrix);
                // SAFETY: passed on to the caller.
                unsafe {
                    $body::<$size, $size>(size, &matrix.0, element, input, output)
                }
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
            matrix: $crate::matvec::Matrix<{ super::MAX }, { super::MAX }>,
            input: &[f32],
            output: *mut f32,
            m: u32,
            n: u32,
        ) {
            let size = super::Size { m: m as usize, n: n as usize };
            let element = matrix_element!($any, matrix);
            // SAFETY: passed on to the caller.
            unsafe {
                $body::<{ super::MAX }, { super::MAX }>(
                    size, &matrix.0, element, input, output,
                )
            }
        }
    };
}

pub mod matvec_fast;
pub mod matvec_interleaved;
pub mod matvec_lcs;
pub mod matvec_thread_per_element;

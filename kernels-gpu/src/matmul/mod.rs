//! Matrix products C = A · B.
//!
//! | file | rungs |
//! |---|---|
//! | [`naive`] | `naive`, `naive_f64` |
//! | [`naive_uncoalesced`] | `naive_uncoalesced`, `naive_uncoalesced_f64` |
//! | [`tiled`] | `tiled_16`, `tiled_32`, `tiled_16_f64`, `tiled_32_f64` |
//! | [`tiled_guarded`] | `tiled_guarded_16`, `tiled_guarded_32` |
//! | [`outputs`] | `outputs_1`, `outputs_2`, `outputs_4`, `outputs_8` |
//! | [`register_blocked`] | `register_blocked` |
//! | [`double_buffered`] | `double_buffered` |
//! | [`volkov_sgemm`] | `volkov_sgemm` |
//! | [`wolfe_k1`] | `wolfe_ks`, `wolfe_k1_inverted`, `wolfe_k1_w32` … `wolfe_k1_w256` |
//! | [`wolfe_k2`] | `wolfe_k2_w32`, `wolfe_k2_w64`, `wolfe_k2_w64_k2`, `wolfe_k2_w128` |
//! | [`wolfe_k3`] | `wolfe_k3_w32_i2`, `wolfe_k3_w32_i4`, `wolfe_k3_w64_i2` |
//! | [`wolfe_k4`] | `wolfe_k4_w32_j2` … `wolfe_k4_w128_j4_k4` |
//! | [`wolfe_k4_guarded`] | `wolfe_k4_guarded` |
//! | [`wolfe_k5`] | `wolfe_k5` |
//!
//! Up to `double_buffered` matrices are row-major and dense; from `volkov_sgemm` on they are column-major with
//! leading dimensions.

// ANCHOR: row_major
/// Kernels that are instances of one body, with their launch bounds and the parameters of every row-major product:
/// `a` (m × k), `b` (k × n), `c` (m × n), then m, n and k.
macro_rules! row_major_kernels {
    ($($(#[$doc:meta])* $name:ident, $element:ty, ($($bounds:tt)*) => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `a`, `b` and `c` are row-major device arrays of m × k, k × n and m × n elements, `c` apart from
            /// the others; the grid and block are those of the module's geometry for this kernel.
            #[cuda_std::kernel($($bounds)*)]
            pub unsafe fn $name(a: &[$element], b: &[$element], c: *mut $element, m: u32, n: u32, k: u32) {
                // SAFETY: passed on to the caller.
                unsafe { $body(a, b, c, m as usize, n as usize, k as usize) }
            }
        )*
    };
}
// ANCHOR_END: row_major

/// Kernels that are instances of one body, with the parameters of every column-major product: `a` (m × k), `b`
/// (k × n), `c` (m × n), then m, n, k and the leading dimensions of a, b and c.
macro_rules! column_major_kernels {
    ($($(#[$doc:meta])* $name:ident, ($($bounds:tt)*) => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `a`, `b` and `c` are column-major device arrays of m × k, k × n and m × n elements with columns
            /// `lda` ≥ m, `ldb` ≥ k and `ldc` ≥ m elements apart, `c` apart from the others; the grid and block
            /// are those of the module's geometry for this kernel, and the sizes are the multiples that the
            /// module states.
            #[cuda_std::kernel($($bounds)*)]
            pub unsafe fn $name(
                a: &[f32], b: &[f32], c: *mut f32,
                m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
            ) {
                let size = $crate::matmul::Pitched::new(m, n, k, lda, ldb, ldc);
                // SAFETY: passed on to the caller.
                unsafe { $body(a, b, c, size) }
            }
        )*
    };
}

pub mod blocked;
pub mod double_buffered;
pub mod naive;
pub mod naive_uncoalesced;
pub mod outputs;
pub mod register_blocked;
pub mod tiled;
pub mod tiled_guarded;
pub mod volkov_sgemm;
pub mod wolfe;
pub mod wolfe_k1;
pub mod wolfe_k2;
pub mod wolfe_k3;
pub mod wolfe_k4;
pub mod wolfe_k4_guarded;
pub mod wolfe_k5;

/// The size of a column-major product, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Pitched {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Distance of two columns of A.
    pub lda: usize,
    /// Distance of two columns of B.
    pub ldb: usize,
    /// Distance of two columns of C.
    pub ldc: usize,
}

impl Pitched {
    /// The size from a kernel's parameters.
    #[inline(always)]
    pub fn new(m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32) -> Self {
        Pitched {
            m: m as usize,
            n: n as usize,
            k: k as usize,
            lda: lda as usize,
            ldb: ldb as usize,
            ldc: ldc as usize,
        }
    }
}

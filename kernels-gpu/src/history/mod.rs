//! The sources' own series of kernels, which stand for themselves and are kept as their sources
//! have them.
//!
//! | file | source | rungs |
//! |---|---|---|
//! | [`volkov_sgemm`] | Volkov and Demmel, SC08, as 000 tells it | `volkov_sgemm` |
//! | [`wolfe`] | 004: Wolfe, "Optimizing GPU Kernels" | `wolfe_ks`, `wolfe_k1_…` to `wolfe_k5` |
//! | [`intervals`] | 002: interval analysis | `matvec_lcs`, `matvec_interleaved`, `matvec_thread_per_element` |
//! | [`transpose_repeated`] | 003: Orlandini and Ferraro | none: its "inner time" of [`transpose`](crate::ladder::transpose) |
//!
//! Matrices of `volkov_sgemm` and of Wolfe's kernels are column-major, with leading dimensions.

/// Kernels that are instances of one body, with the parameters of every column-major product: `a`
/// (m × k), `b` (k × n), `c` (m × n), then m, n, k and the leading dimensions of a, b and c.
macro_rules! column_major_kernels {
    ($($(#[$doc:meta])* $name:ident, ($($bounds:tt)*) => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `a`, `b` and `c` are column-major device arrays of m × k, k × n and m × n elements
            /// with columns `lda` ≥ m, `ldb` ≥ k and `ldc` ≥ m elements apart, `c` apart from the
            /// others; the grid and block are those of the module's geometry for this kernel, and
            /// the sizes are the multiples that the module states.
            #[cuda_std::kernel($($bounds)*)]
            pub unsafe fn $name(
                a: &[f32], b: &[f32], c: *mut f32,
                m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
            ) {
                let size = $crate::history::Pitched::new(m, n, k, lda, ldb, ldc);
                // SAFETY: the body's contract is this kernel's.
                unsafe { $body(a, b, c, size) }
            }
        )*
    };
}

pub mod intervals;
pub mod transpose_repeated;
pub mod volkov_sgemm;
pub mod wolfe;

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

//! Matrix products C = A · B.
//!
//! | file | rungs |
//! |---|---|
//! | [`naive`] | `naive`, `naive_f64` |
//! | [`naive_uncoalesced`] | `naive_uncoalesced`, `naive_uncoalesced_f64` |
//! | [`tiled`] | `tiled_16`, `tiled_32`, `tiled_16_f64`, `tiled_32_f64` |
//! | [`tiled_guarded`] | `tiled_guarded_16`, `tiled_guarded_32` |
//! | [`outputs`] | `outputs_1`, `outputs_2`, `outputs_4`, `outputs_8` |
//! | [`outputs_8x8`] | `outputs_8x8` |
//! | [`outputs_8x8_vec4`] | `outputs_8x8_vec4` |
//! | [`register_blocked`] | `register_blocked` |
//! | [`double_buffered`] | `double_buffered` |
//!
//! Matrices are row-major and dense. The ladder goes on in [`sm_80`](super::sm_80).

// ANCHOR: row_major
/// Kernels that are instances of one body, with their launch bounds and the parameters of every
/// row-major product: `a` (m × k), `b` (k × n), `c` (m × n), then m, n and k.
macro_rules! row_major_kernels {
    ($($(#[$doc:meta])* $name:ident, $element:ty, ($($bounds:tt)*) => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `a`, `b` and `c` are row-major device arrays of m × k, k × n and m × n elements, `c`
            /// apart from the others; the grid and block are those of the module's geometry for
            /// this kernel.
            #[cuda_std::kernel($($bounds)*)]
            pub unsafe fn $name(
                a: &[$element],
                b: &[$element],
                c: *mut $element,
                m: u32,
                n: u32,
                k: u32,
            ) {
                // SAFETY: the body's contract is this kernel's.
                unsafe { $body(a, b, c, m as usize, n as usize, k as usize) }
            }
        )*
    };
}
// ANCHOR_END: row_major

pub mod blocked;
pub mod double_buffered;
pub mod naive;
pub mod naive_uncoalesced;
pub mod outputs;
pub mod outputs_8x8;
pub mod outputs_8x8_vec4;
pub mod register_blocked;
pub mod tiled;
pub mod tiled_guarded;

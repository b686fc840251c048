//! Kernels that stream through memory, and chains of arithmetic: what latency hiding needs.
//!
//! | file | rungs |
//! |---|---|
//! | [`add_one`](mod@add_one) | `add_one` |
//! | [`copy_elements`] | `copy_1`, `copy_2`, `copy_4`, `copy_8` |
//! | [`copy_vectors`] | `copy_vec2`, `copy_vec4` |
//! | [`fma_ilp`] | `fma_ilp_1`, `fma_ilp_2`, `fma_ilp_3`, `fma_ilp_4` |

/// Threads of a block in this family.
pub const BLOCK: usize = 256;

/// Copies that are instances of one body.
macro_rules! copy_kernels {
    ($($(#[$doc:meta])* $name:ident => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `input` and `output` are device arrays of the same number of elements that do not
            /// overlap; the grid and block are those of the module's geometry for this kernel.
            #[cuda_std::kernel(max_threads = super::BLOCK as u32, min_blocks = 1)]
            pub unsafe fn $name(input: &[f32], output: *mut f32) {
                // SAFETY: the body's contract is this kernel's.
                unsafe { $body(input, output) }
            }
        )*
    };
}

/// Chains of multiply-adds that are instances of one body.
macro_rules! fma_kernels {
    ($($(#[$doc:meta])* $name:ident => $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `input` has an element for each thread of a block, `output` one for each thread of
            /// the grid; the grid and block are those of [`GEOMETRY`].
            #[cuda_std::kernel(max_threads = super::BLOCK as u32, min_blocks = 1)]
            pub unsafe fn $name(
                input: &[f32],
                output: *mut f32,
                rounds: u32,
                factor: f32,
                term: f32,
            ) {
                // SAFETY: the body's contract is this kernel's.
                unsafe { $body(input, output, rounds, factor, term) }
            }
        )*
    };
}

pub mod add_one;
pub mod copy_elements;
pub mod copy_vectors;
pub mod fma_ilp;

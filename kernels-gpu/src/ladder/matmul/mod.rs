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
//! | [`cp_async`](mod@cp_async) | `cp_async`: asynchronous copies, from compute capability 8.0 on |
//! | [`mma`] | `mma_f16`, `mma_bf16`, `mma_tf32`: tensor cores, from 8.0 on |
//! | [`wgmma_single`] | `wgmma_bf16_single`: one warpgroup, TMA and `wgmma`, on 9.0a |
//! | [`wgmma_persistent`] | `wgmma_bf16_specialised`, `wgmma_bf16_persistent`: warp specialisation, on 9.0a |
//! | [`wgmma_tma_store`] | `wgmma_bf16_tma_store`: the epilogue by TMA, on 9.0a |
//! | [`wgmma_multicast`] | `wgmma_bf16_multicast`: 2-CTA clusters that load B once, on 9.0a |
//! | [`wgmma_stream_k`] | `wgmma_bf16_stream_k`: stream-K tiles in the partial wave, on 9.0a |
//!
//! Matrices are row-major and dense. The rungs of 9.0a use the pipeline, the tile scheduler and the
//! epilogue of [`gemm`](crate::gemm), where the ladder ends.

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

#[cfg(sm_70_up)]
pub mod blocked;
#[cfg(sm_80_up)]
pub mod cp_async;
#[cfg(sm_70_up)]
pub mod double_buffered;
#[cfg(sm_80_up)]
pub mod mma;
#[cfg(sm_70_up)]
pub mod naive;
#[cfg(sm_70_up)]
pub mod naive_uncoalesced;
#[cfg(sm_70_up)]
pub mod outputs;
#[cfg(sm_70_up)]
pub mod outputs_8x8;
#[cfg(sm_70_up)]
pub mod outputs_8x8_vec4;
#[cfg(sm_70_up)]
pub mod register_blocked;
#[cfg(sm_70_up)]
pub mod tiled;
#[cfg(sm_70_up)]
pub mod tiled_guarded;
#[cfg(sm_90a)]
pub mod wgmma_multicast;
#[cfg(sm_90a)]
pub mod wgmma_persistent;
#[cfg(sm_90a)]
pub mod wgmma_single;
#[cfg(sm_90a)]
pub mod wgmma_stream_k;
#[cfg(sm_90a)]
pub mod wgmma_tma_store;

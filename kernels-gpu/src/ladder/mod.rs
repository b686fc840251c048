//! What a reader climbs: short kernels, each with one idea more than the one before.
//!
//! | folder | rungs, in the order of the climb |
//! |---|---|
//! | [`stream`] | [`add_one`](mod@stream::add_one), [`copy_elements`](stream::copy_elements), [`copy_vectors`](stream::copy_vectors), [`fma_ilp`](stream::fma_ilp): what hides latency |
//! | [`transpose`] | [`copy`](mod@transpose::copy), [`transpose_naive`](mod@transpose::transpose_naive), [`transpose_coalesced`](mod@transpose::transpose_coalesced), [`transpose_padded`](mod@transpose::transpose_padded), [`transpose_swizzled`](mod@transpose::transpose_swizzled), [`transpose_fast`](mod@transpose::transpose_fast): coalescing and banks |
//! | [`matmul`] | [`naive`](matmul::naive), [`naive_uncoalesced`](matmul::naive_uncoalesced), [`tiled`](matmul::tiled), [`tiled_guarded`](matmul::tiled_guarded), [`outputs`](matmul::outputs), [`outputs_8x8`](matmul::outputs_8x8), [`outputs_8x8_vec4`](matmul::outputs_8x8_vec4), [`register_blocked`](matmul::register_blocked), [`double_buffered`](matmul::double_buffered): reuse |
//! | [`sm_80`] | [`cp_async`](mod@sm_80::cp_async), [`mma`](sm_80::mma): the same ladder on compute capability 8.0 |
//! | [`sm_90a`] | [`wgmma_single`](sm_90a::wgmma_single), [`wgmma_persistent`](sm_90a::wgmma_persistent): and on 9.0a |
//! | [`matvec`] | [`matvec_fast`](mod@matvec::matvec_fast): many small products, after the series in [`intervals`](crate::history::intervals) |
//!
//! `matmul`, `sm_80` and `sm_90a` are one ladder. It is cut where a rung needs a newer GPU, because
//! each generation is a PTX module of its own. It goes on in the library: [`gemm`](crate::gemm).

#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod matmul;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod matvec;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod stream;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod transpose;

#[cfg(any(
    not(target_arch = "nvptx64"),
    all(target_feature = "sm_80", not(target_feature = "sm_86"))
))]
pub mod sm_80;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod sm_90a;

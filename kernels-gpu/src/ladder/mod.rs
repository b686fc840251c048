//! What a reader climbs: short kernels, each with one idea more than the one before.
//!
//! | folder | rungs, in the order of the climb |
//! |---|---|
//! | [`stream`] | [`add_one`](mod@stream::add_one), [`copy_elements`](stream::copy_elements), [`copy_vectors`](stream::copy_vectors), [`fma_ilp`](stream::fma_ilp): what hides latency |
//! | [`transpose`] | [`copy`](mod@transpose::copy), [`transpose_naive`](mod@transpose::transpose_naive), [`transpose_coalesced`](mod@transpose::transpose_coalesced), [`transpose_padded`](mod@transpose::transpose_padded), [`transpose_swizzled`](mod@transpose::transpose_swizzled), [`transpose_fast`](mod@transpose::transpose_fast): coalescing and banks |
//! | [`matmul`] | [`naive`](matmul::naive), [`naive_uncoalesced`](matmul::naive_uncoalesced), [`tiled`](matmul::tiled), [`tiled_guarded`](matmul::tiled_guarded), [`outputs`](matmul::outputs), [`outputs_8x8`](matmul::outputs_8x8), [`outputs_8x8_vec4`](matmul::outputs_8x8_vec4), [`register_blocked`](matmul::register_blocked), [`double_buffered`](matmul::double_buffered), [`cp_async`](mod@matmul::cp_async), [`mma`](matmul::mma), [`wgmma_single`](matmul::wgmma_single), [`wgmma_stream_k`](matmul::wgmma_stream_k), [`wgmma_tma_store`](matmul::wgmma_tma_store), [`wgmma_multicast`](matmul::wgmma_multicast), [`wgmma_persistent`](matmul::wgmma_persistent): reuse, and tensor cores |
//! | [`matvec`] | [`matvec_fast`](mod@matvec::matvec_fast): many small products, after the series in [`intervals`](crate::history::intervals) |
//!
//! The products of `matmul` go on in the library: [`gemm`](crate::gemm).

pub mod matmul;
#[cfg(sm_70_up)]
pub mod matvec;
#[cfg(sm_70_up)]
pub mod stream;
#[cfg(sm_70_up)]
pub mod transpose;

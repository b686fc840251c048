//! What a reader climbs: short kernels, each with one idea more than the one before.
//!
//! | folder | rungs, in the order of the climb |
//! |---|---|
//! | [`stream`] | [`add_one`](mod@stream::add_one), [`copy_elements`](stream::copy_elements), [`copy_vectors`](stream::copy_vectors), [`fma_ilp`](stream::fma_ilp): what hides latency |
//! | [`transpose`] | [`copy`](mod@transpose::copy), [`transpose_naive`](mod@transpose::transpose_naive), [`transpose_coalesced`](mod@transpose::transpose_coalesced), [`transpose_padded`](mod@transpose::transpose_padded), [`transpose_swizzled`](mod@transpose::transpose_swizzled), [`transpose_fast`](mod@transpose::transpose_fast): coalescing and banks |
//! | [`matmul`] | [`naive`](matmul::naive), [`naive_uncoalesced`](matmul::naive_uncoalesced), [`tiled`](matmul::tiled), [`tiled_guarded`](matmul::tiled_guarded), [`outputs`](matmul::outputs), [`outputs_8x8`](matmul::outputs_8x8), [`outputs_8x8_vec4`](matmul::outputs_8x8_vec4), [`register_blocked`](matmul::register_blocked), [`double_buffered`](matmul::double_buffered), [`cp_async`](mod@matmul::cp_async), [`mma`](matmul::mma), [`wgmma_single`](matmul::wgmma_single), [`wgmma_stream_k`](matmul::wgmma_stream_k), [`wgmma_tma_store`](matmul::wgmma_tma_store), [`wgmma_multicast`](matmul::wgmma_multicast), [`wgmma_persistent`](matmul::wgmma_persistent): reuse, and tensor cores |
//! | [`matvec`] | [`matvec_fast`](mod@matvec::matvec_fast): many small products, after the series in [`intervals`](crate::history::intervals) |
//! | [`reduce`] | [`reduce_atomic`](mod@reduce::reduce_atomic), [`reduce_shared`](mod@reduce::reduce_shared), [`reduce_shuffle`](mod@reduce::reduce_shuffle), [`reduce_vec4`](mod@reduce::reduce_vec4), [`reduce_two_pass`](reduce::reduce_two_pass), [`reduce_one_pass`](mod@reduce::reduce_one_pass): one number of many |
//! | [`scan`] | [`scan_hillis_steele`](scan::scan_hillis_steele), [`scan_blelloch`](scan::scan_blelloch), [`scan_warp`](scan::scan_warp), [`scan_look_back`](mod@scan::scan_look_back), [`scan_large_tiles`](mod@scan::scan_large_tiles): what depends on all before it |
//! | [`histogram`] | [`histogram_global`](mod@histogram::histogram_global), [`histogram_shared`](mod@histogram::histogram_shared), [`histogram_warp`](mod@histogram::histogram_warp): atomics |
//! | [`softmax`] | [`softmax_three_pass`](mod@softmax::softmax_three_pass), [`softmax_online`](mod@softmax::softmax_online), [`softmax_warp`](mod@softmax::softmax_warp), [`softmax_vec4`](mod@softmax::softmax_vec4), [`softmax_registers`](mod@softmax::softmax_registers): reductions of rows |
//! | [`layernorm`] | [`layernorm_three_pass`](mod@layernorm::layernorm_three_pass), [`layernorm_online`](mod@layernorm::layernorm_online), [`layernorm_warp`](mod@layernorm::layernorm_warp), [`layernorm_vec4`](mod@layernorm::layernorm_vec4): the same, of moments |
//! | [`stencil`] | [`stencil_1d`](mod@stencil::stencil_1d), [`stencil_1d_shared`](mod@stencil::stencil_1d_shared), [`stencil_2d`](mod@stencil::stencil_2d), [`stencil_2d_tiled`](mod@stencil::stencil_2d_tiled): tiles with halos |
//! | [`spmv`] | [`spmv_thread`](mod@spmv::spmv_thread), [`spmv_warp`](mod@spmv::spmv_warp), [`spmv_lanes`](mod@spmv::spmv_lanes): rows of unequal length |
//! | [`attention`] | [`attention_naive`](attention::attention_naive), [`attention_online`](mod@attention::attention_online), [`attention_mma`](attention::attention_mma), [`attention_wgmma`](attention::attention_wgmma): products and a softmax in one kernel |
//!
//! The products of `matmul` go on in the library: [`gemm`](crate::gemm).

pub mod attention;
#[cfg(any(sm_70_up, sm_80_up))]
pub mod block;
#[cfg(sm_70_up)]
pub mod histogram;
#[cfg(sm_70_up)]
pub mod layernorm;
pub mod matmul;
#[cfg(sm_70_up)]
pub mod matvec;
#[cfg(sm_70_up)]
pub mod reduce;
#[cfg(sm_70_up)]
pub mod scan;
#[cfg(sm_70_up)]
pub mod softmax;
#[cfg(sm_70_up)]
pub mod spmv;
#[cfg(sm_70_up)]
pub mod stencil;
#[cfg(sm_70_up)]
pub mod stream;
#[cfg(sm_70_up)]
pub mod transpose;

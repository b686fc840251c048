//! Epilogues: what happens to accumulators between registers and C.
//!
//! | file | part |
//! |---|---|
//! | [`output_op`] | the output operator: what becomes of each accumulator |
//! | [`direct`] | each thread stores its elements: SIMT, `mma.sync` and reduction kernels |
//! | [`any_matrix`] | a matrix whose type of elements a launch tells |
//! | [`staged`] | through shared memory, so that a warp stores whole rows: `mma.sync` of f32 sums |
//! | [`output_elements`] | which elements of C the accumulators of a warpgroup are: `wgmma` |
//! | [`tma_store`] | through shared memory by TMA, while the next tile is computed: `wgmma` |
//! | [`tma_source`] | the source by TMA, two epilogue tiles ahead: `wgmma` |
//! | [`aligned`] | the same where TMA cannot store C: aligned vectors, by way of shifted lines |
//! | `lines` | the same with a source or a fused operator: by warps, line by line |
//! | [`convert`] | the operator of 8-bit operands: C of the type that a launch asks for |
//! | [`fusion`] | bias, activations and residuals, composed of types or given at run time |
//!
//! All are generic over the operator. Another one is a type that implements
//! [`OutputOp`](output_op::OutputOp), or of one element [`ElementOp`](fusion::ElementOp), and a
//! kernel that names it.

#[cfg(sm_90a)]
pub mod aligned;
pub mod any_matrix;
pub mod convert;
pub mod direct;
pub mod fusion;
#[cfg(sm_90a)]
mod lines;
#[cfg(sm_90a)]
pub mod output_elements;
pub mod output_op;
pub mod staged;
#[cfg(sm_90a)]
pub mod tma_source;
#[cfg(sm_90a)]
pub mod tma_store;

//! Epilogues: what happens to accumulators between registers and C.
//!
//! | file | part |
//! |---|---|
//! | [`output_op`] | the output operator: what becomes of each accumulator |
//! | [`direct`] | each thread stores its elements: SIMT, `mma.sync` and reduction kernels |
//! | [`staged`] | through shared memory, so that a warp stores whole rows: `mma.sync` of f32 sums |
//! | [`tma_store`] | through shared memory by TMA, while the next tile is computed: `wgmma` |
//! | `lines` | the same where TMA cannot store C: by warps, a row of an epilogue tile at a time |
//! | [`convert`] | the operator of 8-bit operands: C of the type that a launch asks for |
//! | [`fusion`] | bias, activations and residuals, composed of types or given at run time |
//!
//! All are generic over the operator. Another one is a type that implements
//! [`OutputOp`](output_op::OutputOp), or of one element [`ElementOp`](fusion::ElementOp), and a
//! kernel that names it.

pub mod convert;
pub mod direct;
pub mod fusion;
#[cfg(sm_90a)]
mod lines;
pub mod output_op;
pub mod staged;
#[cfg(sm_90a)]
pub mod tma_store;

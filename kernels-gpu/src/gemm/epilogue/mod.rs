//! Epilogues: what happens to accumulators between registers and C.
//!
//! | file | part |
//! |---|---|
//! | [`output_op`] | the output operator: what becomes of each accumulator |
//! | [`direct`] | each thread stores its elements: SIMT, `mma.sync` and reduction kernels |
//! | [`tma_store`] | through shared memory by TMA, while the next tile is computed: `wgmma` |
//!
//! Both are generic over the operator. Another one, such as an activation, is a
//! type that implements [`OutputOp`](output_op::OutputOp), and a kernel that names it.

pub mod direct;
pub mod output_op;
#[cfg(sm_90a)]
pub mod tma_store;

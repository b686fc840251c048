//! Reductions: the partial sums of the blocks of one tile, added up.
//!
//! | file | which block adds up | kernels |
//! |---|---|---|
//! | [`arrival`] | tells which is the last to arrive | all with a fix-up |
//! | [`last_block`] | the last one to arrive at the tile (fix-up) | SIMT, `mma.sync`, GEMV |
//! | [`split_k`] | a reduction kernel behind the GEMM | SIMT, `mma.sync` |
//! | [`workspace`] | the last one to arrive at the tile | `wgmma` |
//! | [`stream_k`] | a reduction kernel behind the GEMM | `wgmma` |
//! | [`dsmem`] | all blocks of the tile, which are a cluster, from each other's shared memory | `wgmma` |
//!
//! All of them add the partial sums in the order of the splits, so that a GEMM has the same result
//! in every run. No block waits for another one, but for those of its own cluster.

pub mod arrival;
#[cfg(sm_90a)]
pub mod dsmem;
pub mod last_block;
#[cfg(sm_70_up)]
pub mod split_k;
#[cfg(sm_90a)]
pub mod stream_k;
#[cfg(sm_90a)]
pub mod workspace;

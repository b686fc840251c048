//! Reductions: the partial sums of the blocks of one tile, added up.
//!
//! | file | which block adds up | kernels |
//! |---|---|---|
//! | [`fix_up`] | the last one to arrive at a stream-K tile | all |
//! | [`split_k`] | those of a reduction kernel behind a split-K GEMM | SIMT, `mma.sync` |
//! | [`stream_k`] | those of a reduction kernel, where all tiles are stream-K tiles | `wgmma` |
//! | [`dsmem`] | all blocks of the tile, which are a cluster, from each other's shared memory | `wgmma` |
//!
//! [`partial_sums`] is their layout in the workspace. All of them add the partial sums in the order
//! of the splits, so that a GEMM has the same result in every run. No block waits for another one,
//! but for those of its own cluster.

#[cfg(sm_90a)]
pub mod dsmem;
pub mod fix_up;
pub mod partial_sums;
pub mod split_k;
#[cfg(sm_90a)]
pub mod stream_k;

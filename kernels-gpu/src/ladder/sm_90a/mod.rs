//! Rungs that need compute capability 9.0a, after [`mma`](super::sm_80::mma).
//!
//! | file | rungs |
//! |---|---|
//! | [`wgmma_single`] | `wgmma_bf16_single`: one warpgroup, TMA and `wgmma` |
//! | [`wgmma_persistent`] | `wgmma_bf16_specialised`, `wgmma_bf16_persistent`: warp specialisation |
//!
//! They use the pipeline, the tile scheduler and the epilogue of [`hopper`](crate::hopper), where
//! the ladder ends.

pub mod wgmma_persistent;
pub mod wgmma_single;

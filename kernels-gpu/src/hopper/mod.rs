//! Rungs that need compute capability 9.0a: TMA, `wgmma` and clusters. They run on that generation only.
//!
//! | file | rungs |
//! |---|---|
//! | [`dgemm`] | `dgemm` on this generation |
//! | [`wgmma_single`] | `wgmma_bf16_single` |
//! | [`wgmma`] | `wgmma_bf16`, `wgmma_f16` |

pub mod dgemm;
pub mod tiles;
pub mod wgmma;
pub mod wgmma_single;

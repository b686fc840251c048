//! Rungs that need compute capability 9.0a: TMA and `wgmma`. They run on that generation only.
//!
//! | file | rungs |
//! |---|---|
//! | [`dgemm`] | `dgemm` on this generation |
//! | [`wgmma_single`] | `wgmma_bf16_single` |
//! | [`wgmma_persistent`] | `wgmma_bf16_specialised`, `wgmma_bf16_persistent` |
//! | [`mod@wgmma`] | `wgmma_bf16`, `wgmma_f16`, `wgmma_tf32`, `wgmma_bf16_narrow`, `wgmma_f16_narrow`, for which [`choose`] chooses |

#[cfg(not(target_arch = "nvptx64"))]
pub mod choose;
pub mod dgemm;
pub mod exchange;
pub mod pack;
pub mod pair;
pub mod partials;
pub mod parts;
pub mod ring;
pub mod rows;
pub mod schedule;
pub mod store;
pub mod tiles;
pub mod ways;
pub mod wgmma;
pub mod wgmma_persistent;
pub mod wgmma_single;

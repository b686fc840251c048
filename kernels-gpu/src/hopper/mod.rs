//! Products for programs that need compute capability 9.0a: TMA and `wgmma`. They run on that generation only.
//!
//! The rungs that lead there are in [`ladder::sm_90a`](crate::ladder::sm_90a).
//!
//! | file | rungs |
//! |---|---|
//! | [`dgemm`] | `dgemm` on this generation |
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

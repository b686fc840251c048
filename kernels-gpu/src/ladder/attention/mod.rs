//! Attention: `output = softmax(Q · Kᵀ / √d) · V` for each head, with the softmax along the keys.
//!
//! | file | rungs |
//! |---|---|
//! | [`attention_naive`] | `attention_naive` |
//! | [`attention_online`](mod@attention_online) | `attention_online` |
//! | [`attention_mma`] (`sm_80`) | `attention_mma_f16`, `attention_mma_bf16` |
//! | [`attention_wgmma`] (`sm_90a`) | `attention_wgmma_bf16`, `attention_wgmma_bf16_causal` |
//!
//! Q and the output have a row for each query, K and V one for each key. A row is every head, d
//! elements each, one behind the other: head h has columns d h to d h + d - 1. Rows are dense. d is
//! 64, in [`attention_wgmma`] 128.

/// Elements of a head: d.
pub const HEAD: usize = 64;

/// 1 / √d.
pub const SCALE: f32 = 0.125;

// √64 is 8.
const _: () = assert!(HEAD as f32 * SCALE * SCALE == 1.0);

#[cfg(sm_80_up)]
pub mod attention_mma;
#[cfg(sm_70_up)]
pub mod attention_naive;
#[cfg(sm_70_up)]
pub mod attention_online;
#[cfg(sm_90a)]
pub mod attention_wgmma;
#[cfg(any(sm_80_up, sm_90a))]
mod row;

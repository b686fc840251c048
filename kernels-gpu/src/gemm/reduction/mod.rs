//! Reduction of partial accumulators.

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod dsmem;
pub mod last_block;
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_75")))]
pub mod split_k;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod stream_k;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod workspace;

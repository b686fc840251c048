//! Pipelines: stages of shared memory with full and empty barriers.

pub mod cp_async;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod tma;

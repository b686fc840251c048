//! Pipelines: stages of shared memory, each with a full and an empty barrier.

pub mod cp_async;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod tma;

//! Pipelines: stages of shared memory with full and empty barriers.

pub mod cp_async;
#[cfg(sm_90a)]
pub mod tma;

//! Pipelines: stages of shared memory, each with a full and an empty barrier.

pub mod cp_async;
#[cfg(sm_90a)]
pub mod tma;

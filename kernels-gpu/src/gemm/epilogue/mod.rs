//! Epilogues: from accumulators in registers to C in global memory.

pub mod linear;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod tma_store;

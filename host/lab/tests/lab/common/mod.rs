//! What several tests use.

pub mod gemm;
pub mod gpu;
pub mod output;

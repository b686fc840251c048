//! What several tests use.

pub mod drawn;
pub mod gemm;
pub mod gpu;
pub mod output;

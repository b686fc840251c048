//! What several tests use.

pub mod drawn;
pub mod gemm;
#[path = "../../../../../tests/library/first_gpu.rs"]
pub mod gpu;
pub mod output;

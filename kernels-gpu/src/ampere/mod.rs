//! Rungs that need compute capability 8.0: asynchronous copies into shared memory and `mma.sync`.
//!
//! | file | rungs |
//! |---|---|
//! | [`cp_async`](mod@cp_async) | `cp_async` |
//! | [`sgemm`] | `sgemm`, chosen among its instances and those of [`gemm`](crate::gemm) |
//! | [`dgemm`] | `dgemm`, likewise |
//! | [`mma`] | `mma_f16`, `mma_bf16`, `mma_tf32` |

pub mod cp_async;
pub mod dgemm;
pub mod mma;
pub mod sgemm;

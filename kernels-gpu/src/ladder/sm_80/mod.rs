//! Rungs that need compute capability 8.0, after
//! [`double_buffered`](super::matmul::double_buffered).
//!
//! | file | rungs |
//! |---|---|
//! | [`cp_async`](mod@cp_async) | `cp_async`: asynchronous copies into shared memory |
//! | [`mma`] | `mma_f16`, `mma_bf16`, `mma_tf32`: tensor cores |

pub mod cp_async;
pub mod mma;

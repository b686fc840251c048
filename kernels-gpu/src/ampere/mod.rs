//! Rungs that need compute capability 8.0: asynchronous copies into shared memory and `mma.sync`.
//!
//! | file | rungs |
//! |---|---|
//! | [`mma`] | `mma_f16`, `mma_bf16`, `mma_tf32` |

pub mod mma;

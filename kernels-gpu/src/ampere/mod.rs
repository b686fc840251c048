//! Rungs that need compute capability 8.0: asynchronous copies into shared memory and `mma.sync`.
//!
//! | file | rungs |
//! |---|---|
//! | [`cp_async`](mod@cp_async) | `cp_async` |
//! | [`sgemm`] | `sgemm`, chosen by [`choose`] among its instances and those of [`skinny`] and [`partials`] |
//! | [`dgemm`] | `dgemm`, likewise |
//! | [`mma`] | `mma_f16`, `mma_bf16`, `mma_tf32` |
//!
//! The general products share [`gemm`] (parameters, layouts, tiles), [`operand`] (copies),
//! [`ring`] (stages) and [`meet`] (tiles that blocks share).

#[cfg(not(target_arch = "nvptx64"))]
pub mod choose;
pub mod cp_async;
pub mod dgemm;
pub mod dgemm_tile;
pub mod gemm;
pub mod instance;
pub mod meet;
pub mod mma;
pub mod operand;
pub mod partials;
pub mod ring;
pub mod scalar;
pub mod sgemm;
pub mod skinny;

//! GEMMs on tensor cores, by `mma.sync`.
//!
//! | file | part |
//! |---|---|
//! | [`dgemm`], [`dgemm_sm_90a`], [`main_loop`] | f64 |
//! | [`gemm`] | f16, bf16, TF32 and f32 in terms of bf16 |
//! | [`gemm_sm_90a`] | those of operands as they lie, for launches that overlap |
//! | [`integer`] | 8-bit integers, with sums of i32 |
//! | [`k_major`] | their operands, copied to be K-major |
//! | [`multistage`] | their pipeline, and the main loop of the first three |
//! | [`split`] | the main loop of f32 in terms of bf16 |
//! | [`table`] | block tiles, and the macro of the kernels of `gemm` |
//! | [`loader`] | the copies of their operands to shared memory |
//! | [`operand`] | tiles in shared memory whose rows are aligned, and fragments |
//! | [`unaligned`] | the same of rows that begin anywhere |

#[cfg(sm_80_up)]
pub mod dgemm;
#[cfg(sm_90a)]
pub mod dgemm_sm_90a;
#[cfg(sm_80_up)]
pub mod gemm;
#[cfg(sm_90a)]
pub mod gemm_sm_90a;
#[cfg(sm_80_up)]
pub mod integer;
#[cfg(sm_80_up)]
pub mod k_major;
pub mod loader;
pub mod main_loop;
pub mod multistage;
pub mod operand;
pub mod split;
pub mod table;
pub mod unaligned;

//! GEMMs on tensor cores, by `mma.sync`.
//!
//! | file | part |
//! |---|---|
//! | [`dgemm`], [`dgemm_sm_90a`], [`main_loop`] | f64 |
//! | [`gemm`] | f16, bf16, TF32 and f32 in terms of bf16: the table of kernels |
//! | [`integer`] | 8-bit integers, with sums of i32 |
//! | [`k_major`] | their operands, copied to be K-major |
//! | [`multistage`] | their pipeline, and the main loop of the first three |
//! | [`split`] | the main loop of f32 in terms of bf16 |
//! | [`operand`] | their operands: tiles in shared memory, copies and fragments |

#[cfg(sm_80_up)]
pub mod dgemm;
#[cfg(sm_90a)]
pub mod dgemm_sm_90a;
#[cfg(sm_80_up)]
pub mod gemm;
#[cfg(sm_80_up)]
pub mod integer;
#[cfg(sm_80_up)]
pub mod k_major;
pub mod main_loop;
pub mod multistage;
pub mod operand;
pub mod split;

//! Tests of the laboratory: every kernel of the catalogue on every engine.

mod agreement;
mod calibrate;
mod common;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod compare;
mod counters;
mod eight_bit;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod engine;
#[cfg(all(target_os = "linux", feature = "gpu"))]
#[path = "../../../../cuda_driver/tests/fake_driver/mod.rs"]
mod fake_driver;
mod gemm;
mod mutation;
mod ncu;
mod properties;
mod split_gemm;
mod stepping;
mod tensor_gemm;

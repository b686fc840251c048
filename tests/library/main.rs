//! Tests of the library, as programs use it.

mod checked_in;
mod crates;
mod cuda_std;
mod downstream;
#[cfg(gpu)]
#[path = "../../cuda_driver/tests/fake_driver/mod.rs"]
mod fake_driver;
mod first_gpu;
mod gpu;
#[cfg(gpu)]
mod gpu_engine;
mod outside;

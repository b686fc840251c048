//! The declarations of `cust_raw` 0.11.3, and the functions behind them.
//!
//! A program that uses `cust` links this package through `[patch.crates-io]`, and with it
//! `warpladder-cuda-driver`, which loads the driver at the first call. So it links without a CUDA
//! installation, starts without a driver, and needs no line of Rust for it.

// Links the functions that the declarations name.
#[cfg(target_os = "linux")]
extern crate cuda_driver;

pub use declarations::*;

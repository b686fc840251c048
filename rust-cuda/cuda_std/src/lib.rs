//! warpladder's `cuda_std`, under the package name that crates written for Rust-CUDA depend on.
//!
//! Everything is in `warpladder-cuda-std`; this package is for `[patch.crates-io]` and for
//! dependencies by git or path.

#![no_std]

pub use warpladder_cuda_std::*;

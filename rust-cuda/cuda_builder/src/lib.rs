//! warpladder's `cuda_builder`, under the package name that build scripts written for Rust-CUDA
//! depend on.
//!
//! Everything is in `warpladder-cuda-builder`; this package is for `[patch.crates-io]` and for
//! dependencies by git or path.

pub use warpladder_cuda_builder::*;

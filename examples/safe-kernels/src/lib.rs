//! Kernels of the safe form, and what launches them, in one crate.
//!
//! The crate compiles for two targets. For the GPU it is its kernels; for the host it is also the
//! types that a launch names them by, and their PTX, which the build script embeds.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod kernels;

cuda_std::include_ptx!();

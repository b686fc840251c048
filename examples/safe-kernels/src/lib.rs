//! Kernels of the safe form, and what launches them, in one crate.
//!
//! The crate compiles for two targets. For the GPU it is its kernels; for the host it is also the
//! types that a launch names them by, and their PTX, which the build script embeds.
//!
//! ```
//! use safe_kernels::{PTX, kernels::vecadd::vecadd};
//! use warpladder::gpu::Gpu;
//!
//! # fn main() -> Result<(), warpladder::gpu::Error> {
//! let gpu = Gpu::emulated();
//! let vecadd = gpu.typed_kernel::<vecadd>(&PTX)?;
//! let (a, b) = (gpu.upload(&[1.0f32; 1000])?, gpu.upload(&[2.0f32; 1000])?);
//! let mut c = gpu.upload(&[f32::NAN; 1000])?;
//! vecadd.launch(&gpu, (&a, &b, &mut c))?;
//! assert!(c.check(&[3.0; 1000], 0.0)?.ok);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod kernels;
pub mod with_unsafe;

#[cfg(not(target_arch = "nvptx64"))]
pub mod compare;
#[cfg(all(doctest, not(target_arch = "nvptx64")))]
mod refused;

cuda_std::include_ptx!();

//! Device-side library for GPU kernels in Rust, compiled by stock rustc for `nvptx64-nvidia-cuda`.
//!
//! The names are those of Rust-CUDA's `cuda_std`, so that a kernel written after the Rust CUDA
//! guide compiles unchanged where this crate covers what it uses:
//!
//! ```ignore
//! use cuda_std::prelude::*;
//!
//! #[kernel]
//! pub unsafe fn add(a: &[f32], b: &[f32], c: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < a.len() {
//!         unsafe { *c.add(i) = a[i] + b[i] };
//!     }
//! }
//! ```
//!
//! # What is here
//!
//! | module | content |
//! |---|---|
//! | [`kernel`](macro@kernel) | the attribute that makes a PTX entry of a function |
//! | [`thread`] | thread, block and grid indices; block barriers; fences |
//! | [`warp`] | lane index, shuffles, votes, matches, warp barrier |
//! | [`shared`] | shared memory: [`shared_array!`], dynamic shared memory |
//! | [`safe`] | kernels without `unsafe`, and their typed launches |
//! | [`vector`] | 64- and 128-bit loads and stores that stay one instruction |
//! | [`atomic`] | atomic types of a block, a device and all devices |
//! | [`float`] | [`GpuFloat`]: functions of floats, accurate and fast ones |
//! | `intrinsics` | libdevice's functions under their names |
//! | [`io`] | [`print!`], [`println!`], [`assert!`] and others, with a message |
//! | [`mem`] | the device's allocator, sizes of shared memory |
//! | [`misc`] | the clock, a breakpoint, events for profilers |
//! | [`ptr`] | state spaces of pointers |
//! | [`float16`] | [`f16`](float16::f16) and [`bf16`](float16::bf16): floats of 16 bits in memory |
//! | [`matrix`] | fragments of matrices from and to shared memory |
//! | [`mma`] | MMA by a warp on tensor cores |
//! | [`griddepcontrol`] | programmatic dependent launch |
//! | [`tma`] | bulk copies of tiles of tensors |
//! | [`cluster`] | blocks that reach each other's shared memory |
//! | [`wgmma`] | asynchronous MMA by a warpgroup |
//! | [`hint`] | a value that the optimiser cannot see through |
//! | [`async_copy`] | `cp.async`: copies from global to shared memory beside the arithmetic |
//! | [`mbarrier`] | barriers in shared memory, full and empty barriers of a pipeline |
//!
//! # Features
//!
//! Kernels that need none of them compile no further crate.
//!
//! | feature | what it adds |
//! |---|---|
//! | `libm` | functions of floats beyond arithmetic and rounding; `intrinsics` |
//! | `alloc` | a global allocator, so that a kernel crate can use `alloc` |
//! | `glam` | indices are glam's vectors; `cuda_std::glam` |
//! | `half` | shuffles of half's types; `cuda_std::{half, f16, bf16}` |
//! | `vek` | `cuda_std::vek` |
//! | `rust-cuda` | all of these, as Rust-CUDA's `cuda_std` has them |
//!
//! # What differs from Rust-CUDA
//!
//! - [`prelude`] has what kernels of this workspace use. The package `cuda_std` in the folder
//!   `rust-cuda` has Rust-CUDA's own.
//! - `#[address_space(constant)]` statics stay in global memory: stock rustc cannot place a static
//!   with a value elsewhere.
//! - There are no modules `atomic::mid` and `atomic::intrinsics`: the types of [`atomic`] have
//!   these operations as methods.
//! - There are no modules `rt`, `optix` and `cfg`.
//!
//! # What a kernel crate has to enable
//!
//! `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]` for `#[kernel]`, and
//! `asm_experimental_arch` as well where it uses [`shared_array!`].
//!
//! # On a host target
//!
//! Everything type-checks, documents and lints; a function that needs the device panics when it is
//! called.
//!
//! # How calls vanish
//!
//! PTX is written by one rustc run without a linker, so nothing can be called across crates unless
//! it is inlined, or generic, or `#[inline]`. What kernels of this workspace use is so.
//! `cuda_builder` compiles a kernel crate that calls more as one module with all of its
//! dependencies.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_unadjusted,
        asm_experimental_arch,
        core_intrinsics,
        gpu_intrinsics,
        gpu_launch_sized_workgroup_mem,
        link_llvm_intrinsics,
        repr_simd
    ),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod async_copy;
pub mod atomic;
pub mod cluster;
pub mod float;
pub mod float16;
pub mod griddepcontrol;
pub mod hint;
mod instruction;
#[cfg(feature = "libm")]
pub mod intrinsics;
pub mod io;
#[doc(hidden)]
pub mod launch_bounds;
pub mod matrix;
pub mod mbarrier;
pub mod mem;
pub mod misc;
pub mod mma;
mod nvvm;
pub mod ptr;
pub mod safe;
pub mod shared;
pub mod thread;
pub mod tma;
pub mod vector;
pub mod warp;
pub mod wgmma;

pub use cuda_std_macros::{address_space, externally_visible, gpu_only, kernel};
pub use float::GpuFloat;

#[cfg(feature = "libm")]
pub use float::FloatExt;
#[cfg(feature = "glam")]
pub use glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
#[cfg(feature = "vek")]
pub use vek;

/// What a kernel file usually needs: `use cuda_std::prelude::*;`.
pub mod prelude {
    pub use crate::float::GpuFloat;
    pub use crate::kernel;
    pub use crate::shared_array;
    pub use crate::thread;
    pub use crate::warp;
}

/// Where a panic ends the kernel, with its message, file and line. `cuda_builder` makes panics end
/// it at once, without a call, unless `CudaBuilder::panic_messages` asks for this.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    let (file, line) = panic
        .location()
        .map_or(("", 0), |location| (location.file(), location.line()));
    io::fail(format_args!("{}", panic.message()), file, line)
}

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
//! | [`vector`] | 64- and 128-bit loads and stores that stay one instruction |
//! | [`atomic`] | atomic addition of floats; integers use [`core::sync::atomic`] |
//! | [`float`] | [`GpuFloat`](float::GpuFloat): fused multiply-add and rounding functions |
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
//! # What Rust-CUDA has and this crate has not
//!
//! - `print!`, `println!` and `assert_eq!` on the device: they need `vprintf` and a heap.
//! - `alloc` and the device allocator: a kernel that ships has no use for `malloc` on the device.
//! - libdevice's functions (`exp`, `sin`, `pow`, …): libdevice is bitcode of the CUDA toolkit.
//! - `#[address_space(…)]` statics: stock rustc cannot place a static; [`shared_array!`] takes the
//!   place of shared ones.
//! - `glam` vectors as index types: [`thread::UVec2`] and [`thread::UVec3`] have the same fields.
//! - `#[gpu_only]` and `#[externally_visible]`: the functions here panic on the host by themselves,
//!   and `#[kernel]` exports.
//! - `rt`, `optix` and `cfg` modules.
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
//! it is inlined: every function here is `#[inline(always)]`, and helpers of a kernel have to be so
//! too, or generic.

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
mod intrinsics;
#[doc(hidden)]
pub mod launch_bounds;
pub mod matrix;
pub mod mbarrier;
pub mod mma;
pub mod shared;
pub mod thread;
pub mod tma;
pub mod vector;
pub mod warp;
pub mod wgmma;

pub use cuda_std_macros::kernel;

/// What a kernel file usually needs: `use cuda_std::prelude::*;`.
pub mod prelude {
    pub use crate::float::GpuFloat;
    pub use crate::kernel;
    pub use crate::shared_array;
    pub use crate::thread;
    pub use crate::warp;
}

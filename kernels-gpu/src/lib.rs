//! warpladder's GPU kernels: a ladder from the first naive matrix product upwards, one rung a file.
//!
//! | folder | what it holds |
//! |---|---|
//! | [`ladder`] | what a reader climbs: short rungs, one idea each, in order |
//! | [`history`] | the sources' series that stand for themselves: Volkov, Wolfe, interval analysis |
//! | [`gemm`] | what programs use: GEMM, C ← α · op(A) · op(B) + β · C |
//! | [`calibrate`] | micro-benchmarks, which measure a device for the models |
//! | [`geometry`] | what a launch has to know of a kernel |
//!
//! The crate compiles for two targets. For `nvptx64-nvidia-cuda` it is the PTX that ships in
//! `ptx/`. For the host it gives the catalogue what it must not repeat: the constants that a launch
//! depends on.
//!
//! # How to read a rung
//!
//! Each file opens with the same sections: *Idea*, *Thread mapping*, *Preconditions*, *What changed
//! since the rung before* and *Source*. Then comes the geometry, then one generic body, then the
//! kernels, which are instances of that body. A suffix names what an instance fixes: `_16` a tile
//! width, `_f64` the element type.
//!
//! # Conventions
//!
//! Matrices are dense and row-major unless a file says otherwise. A product is C = A · B with A of
//! m × k, B of k × n and C of m × n elements. Kernels read through slices, which gives loads
//! through the read-only path (`ld.global.nc`), and without bounds checks: the launch guarantees
//! the sizes, and the emulator checks them.
//!
//! Every kernel states its launch bounds. `min_blocks = 1` says that registers go before occupancy:
//! without it `ptxas` for some generations spills to fit more blocks than a rung wants.
//!
//! # Generations
//!
//! A kernel is in one PTX module only: that of the oldest GPU generation that can run it. The `cfg`
//! of its Rust module says which. `sm_80` brought asynchronous copies and `mma.sync` of all types;
//! `sm_90a` has TMA, `wgmma` and clusters. All else runs from `sm_70` on. The PTX modules are
//! listed in the workspace's `build.rs`.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
// Arrays that live in registers are indexed by unrolled loops: an iterator over one makes LLVM put
// it into local memory.
#![allow(clippy::needless_range_loop)]

pub mod gemm;
pub mod geometry;
pub mod ladder;

#[cfg(sm_70_up)]
pub mod calibrate;
#[cfg(sm_70_up)]
pub mod history;

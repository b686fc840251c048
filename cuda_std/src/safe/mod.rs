//! Kernels without `unsafe`: each thread writes elements of its own, and what else a kernel relies
//! on is checked once, when it is launched.
//!
//! ```ignore
//! use cuda_std::safe::*;
//!
//! /// The elements of the vectors.
//! pub struct N;
//!
//! #[kernel]
//! pub fn vecadd(
//!     block: Block<256>,
//!     a: Vector<f32, N>,
//!     b: Vector<f32, N>,
//!     mut c: VectorMut<f32, N>,
//! ) {
//!     c.store(&block, |i| a[i] + b[i]);
//! }
//! ```
//!
//! # What makes it safe
//!
//! - **Outputs are disjoint.** A [`VectorMut`] or [`MatrixMut`] gives a thread no element but those
//!   that its index in the grid makes its own. There is no other way to write one.
//! - **Dimensions have names.** `N` above is a type. The launch refuses arrays that differ along a
//!   dimension of one name. So an [`Index<N>`](Index), which only this module makes, is inside of
//!   every array along `N`, and `a[i]` is a load without a test.
//! - **Multiples are part of a type.** `Matrix<f32, M, K, 32>` takes extents that are multiples of
//!   32 alone, which the launch checks. Tiles of 32 then need no test at their edges. With 1, the
//!   default, the same source has the tests.
//! - **A kernel's body is the same for all threads of a block.** What differs from thread to thread
//!   is inside of closures, which cannot reach a barrier and cannot change what is outside. So the
//!   body's branches and loops go the same way in all threads, and all reach each barrier.
//! - **Shared memory alternates between two phases.** A [`SharedTile`] is written, each slot by one
//!   thread; [`Block::sync`] makes a [`FilledTile`] of it, which all threads read; another `sync`
//!   takes that back. Reads before the barrier or writes beside reads do not compile.
//! - **Host and kernel agree.** `#[kernel]` makes a type of the kernel's name, whose launch takes
//!   the arguments by the parameters' types (`warpladder::gpu::TypedKernel`). An output is borrowed
//!   mutably there: the same array for two outputs, or for an output and an input, does not
//!   compile.
//!
//! # What is not ensured
//!
//! - Functions of [`thread`](crate::thread) and [`warp`](crate::warp) are safe to call and differ
//!   from thread to thread. So does what is read from an atomic. A body that branches on one of
//!   them around [`Block::sync`] leaves threads behind at the barrier, which PTX leaves undefined
//!   ("bar.sync"). The emulator's synccheck reports it.
//! - Two streams of the host can run kernels on one array at a time, as with every kernel: the
//!   values are then any of the two.
//! - That PTX is of the crate that launches it is what the build says: [`Ptx::of_package`].
//!
//! # What is left out
//!
//! - Warp shuffles, MMA, asynchronous copies and clusters: they need `unsafe` kernels, which can
//!   stand beside safe ones in a crate.
//! - Reductions across blocks, and any output whose index is computed from data.
//! - Matrices with gaps between their rows, and column-major ones; arrays of 16-bit floats.
//! - Instances that the host's calls alone name: PTX is compiled before the host's code, so a
//!   generic kernel lists its instances. A launch of another one does not compile.
//! - PTX for several GPU generations in one program.
//!
//! # How others do it
//!
//! In NVIDIA's [cuda-oxide](https://nvlabs.github.io/cuda-oxide/gpu-safety/the-safety-model.html) a
//! thread gets an opaque index, and by it one element of a `DisjointSlice`; shared memory takes
//! `unsafe`. Here the body has no index of a thread at all, so that barriers and shared tiles are
//! safe as well. The price is that code that differs between threads stands in closures.

mod block;
mod entry;
mod index;
mod matrix;
mod tile;
mod vector;

pub use block::{Block, PerThread, Thread};
pub use cuda_std_macros::safe_kernel as kernel;
pub use entry::{BlockShape, Element, Entry, Parameter, Ptx};
pub use index::{Below, Extent, Index, Span};
pub use matrix::{Elements, Matrix, MatrixMut, Slot, Tiles, TilesDown, Tiling};
pub use tile::{FilledTile, Phase, SharedTile, WrittenTile};
pub use vector::{Vector, VectorMut};

pub use crate::float::GpuFloat;
pub use crate::include_ptx;

use core::marker::PhantomData;

/// Keeps a value out of statics, which outlive the launch that its index is for.
type OfThisLaunch = PhantomData<*const ()>;

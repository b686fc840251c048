//! What does not compile. Beside each group stands one that does, which differs in the fault alone.
//!
//! # Launches
//!
//! ```
//! # use safe_kernels::{PTX, kernels::vecadd::vecadd};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let vecadd = gpu.typed_kernel::<vecadd>(&PTX)?;
//! let (a, b) = (gpu.upload(&[1.0f32])?, gpu.upload(&[2.0f32])?);
//! let mut c = gpu.upload(&[0.0f32])?;
//! vecadd.launch(&gpu, (&a, &b, &mut c))?;
//! # Ok(())
//! # }
//! ```
//!
//! An output that is an input as well:
//!
//! ```compile_fail,E0502
//! # use safe_kernels::{PTX, kernels::vecadd::vecadd};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let vecadd = gpu.typed_kernel::<vecadd>(&PTX)?;
//! let (a, b) = (gpu.upload(&[1.0f32])?, gpu.upload(&[2.0f32])?);
//! let mut c = gpu.upload(&[0.0f32])?;
//! vecadd.launch(&gpu, (&c, &b, &mut c))?;
//! # Ok(())
//! # }
//! ```
//!
//! Too few arguments:
//!
//! ```compile_fail,E0308
//! # use safe_kernels::{PTX, kernels::vecadd::vecadd};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let vecadd = gpu.typed_kernel::<vecadd>(&PTX)?;
//! let (a, b) = (gpu.upload(&[1.0f32])?, gpu.upload(&[2.0f32])?);
//! let mut c = gpu.upload(&[0.0f32])?;
//! vecadd.launch(&gpu, (&a, &mut c))?;
//! # Ok(())
//! # }
//! ```
//!
//! Elements of another type:
//!
//! ```compile_fail,E0308
//! # use safe_kernels::{PTX, kernels::vecadd::vecadd};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let vecadd = gpu.typed_kernel::<vecadd>(&PTX)?;
//! let (a, b) = (gpu.upload(&[1.0f32])?, gpu.upload(&[2.0f64])?);
//! let mut c = gpu.upload(&[0.0f32])?;
//! vecadd.launch(&gpu, (&a, &b, &mut c))?;
//! # Ok(())
//! # }
//! ```
//!
//! An output that is not borrowed mutably:
//!
//! ```compile_fail,E0308
//! # use safe_kernels::{PTX, kernels::vecadd::vecadd};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let vecadd = gpu.typed_kernel::<vecadd>(&PTX)?;
//! let (a, b) = (gpu.upload(&[1.0f32])?, gpu.upload(&[2.0f32])?);
//! let mut c = gpu.upload(&[0.0f32])?;
//! vecadd.launch(&gpu, (&a, &b, &c))?;
//! # Ok(())
//! # }
//! ```
//!
//! One array for two outputs, of a kernel that has two:
//!
//! ```
//! # use cuda_std::safe::*;
//! # use warpladder::gpu::{Error, Gpu, TypedKernel};
//! # struct N;
//! #[kernel]
//! fn two(block: Block<256>, mut x: VectorMut<f32, N>, mut y: VectorMut<f32, N>) {
//!     x.store(&block, |_| 1.0);
//!     y.store(&block, |_| 2.0);
//! }
//!
//! fn start(gpu: &Gpu, two: &TypedKernel<two>) -> Result<(), Error> {
//!     let (mut x, mut y) = (gpu.upload(&[0.0f32])?, gpu.upload(&[0.0f32])?);
//!     two.launch(gpu, (&mut x, &mut y))
//! }
//! # fn main() {}
//! ```
//!
//! ```compile_fail,E0499
//! # use cuda_std::safe::*;
//! # use warpladder::gpu::{Error, Gpu, TypedKernel};
//! # struct N;
//! #[kernel]
//! fn two(block: Block<256>, mut x: VectorMut<f32, N>, mut y: VectorMut<f32, N>) {
//!     x.store(&block, |_| 1.0);
//!     y.store(&block, |_| 2.0);
//! }
//!
//! fn start(gpu: &Gpu, two: &TypedKernel<two>) -> Result<(), Error> {
//!     let (mut x, mut y) = (gpu.upload(&[0.0f32])?, gpu.upload(&[0.0f32])?);
//!     two.launch(gpu, (&mut x, &mut x))
//! }
//! # fn main() {}
//! ```
//!
//! Instances that are not in the kernel's list:
//!
//! ```
//! # use safe_kernels::{PTX, kernels::scale::scale};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let scale = gpu.typed_kernel::<scale<f64>>(&PTX)?;
//! # Ok(())
//! # }
//! ```
//!
//! ```compile_fail,E0277
//! # use safe_kernels::{PTX, kernels::scale::scale};
//! # use warpladder::gpu::{Error, Gpu};
//! # fn main() -> Result<(), Error> {
//! # let gpu = Gpu::emulated();
//! let scale = gpu.typed_kernel::<scale<i64>>(&PTX)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Kernels
//!
//! A tile is written, then read behind a barrier:
//!
//! ```
//! # use cuda_std::safe::*;
//! # struct N;
//! #[kernel]
//! fn reverse(
//!     block: Block<32>,
//!     mut x: VectorMut<u32, N>,
//!     #[shared] tile: SharedTile<u32, 1, 32>,
//! ) {
//!     let tile = tile.write(&block, |slot| slot.column().get() as u32);
//!     let tile = block.sync(tile);
//!     let [row, last] = [0, 31];
//!     let (Some(row), Some(last)) = (Below::new(row), Below::new(last)) else { return };
//!     x.store(&block, |_| tile[(row, last)]);
//! }
//! # fn main() {}
//! ```
//!
//! Without the barrier:
//!
//! ```compile_fail,E0608
//! # use cuda_std::safe::*;
//! # struct N;
//! #[kernel]
//! fn reverse(
//!     block: Block<32>,
//!     mut x: VectorMut<u32, N>,
//!     #[shared] tile: SharedTile<u32, 1, 32>,
//! ) {
//!     let tile = tile.write(&block, |slot| slot.column().get() as u32);
//!     let [row, last] = [0, 31];
//!     let (Some(row), Some(last)) = (Below::new(row), Below::new(last)) else { return };
//!     x.store(&block, |_| tile[(row, last)]);
//! }
//! # fn main() {}
//! ```
//!
//! A barrier that some threads alone would reach, as they alone run a closure:
//!
//! ```compile_fail,E0507
//! # use cuda_std::safe::*;
//! # struct N;
//! #[kernel]
//! fn reverse(
//!     block: Block<32>,
//!     mut x: VectorMut<u32, N>,
//!     #[shared] tile: SharedTile<u32, 1, 32>,
//! ) {
//!     let tile = tile.write(&block, |slot| slot.column().get() as u32);
//!     let [row, last] = [0, 31];
//!     let (Some(row), Some(last)) = (Below::new(row), Below::new(last)) else { return };
//!     x.store(&block, |_| block.sync(tile)[(row, last)]);
//! }
//! # fn main() {}
//! ```
//!
//! A body that branches on what a thread has told it:
//!
//! ```compile_fail,E0277
//! # use cuda_std::safe::*;
//! # use std::cell::Cell;
//! # struct N;
//! #[kernel]
//! fn some(
//!     block: Block<32>,
//!     mut x: VectorMut<u32, N>,
//!     #[shared] tile: SharedTile<u32, 1, 32>,
//! ) {
//!     let first = Cell::new(false);
//!     let tile = tile.write(&block, |slot| {
//!         first.set(slot.column().get() == 0);
//!         0
//!     });
//!     if first.get() {
//!         block.sync(tile);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! An index along another dimension:
//!
//! ```compile_fail,E0308
//! # use cuda_std::safe::*;
//! # struct M;
//! # struct N;
//! #[kernel]
//! fn copy(block: Block<256>, a: Vector<f32, M>, mut c: VectorMut<f32, N>) {
//!     c.store(&block, |i| a[i]);
//! }
//! # fn main() {}
//! ```
//!
//! An index that outlives the launch:
//!
//! ```compile_fail,E0277
//! # use cuda_std::safe::*;
//! # use std::sync::Mutex;
//! # struct N;
//! static KEPT: Mutex<Option<Index<N>>> = Mutex::new(None);
//! # fn main() {}
//! ```

//! Products of host matrices that need not fit the device: tiles go through page-locked buffers, on
//! a stream of their own, beside the products.
//!
//! ```
//! # use warpladder::gpu::Gpu;
//! # use warpladder_scale::stream::{self, HostMatrix, HostMatrixMut, Options};
//! # fn main() -> Result<(), warpladder_scale::ScaleError> {
//! let gpu = Gpu::emulated();
//! let (a, b) = (vec![1.0f32; 40 * 30], vec![2.0f32; 30 * 20]);
//! let mut c = vec![0.0f32; 40 * 20];
//! let options = Options { device_memory: Some(8 << 10), ..Options::default() };
//! let moved = stream::gemm(
//!     &gpu,
//!     HostMatrix::row_major(&a, 40, 30)?,
//!     HostMatrix::row_major(&b, 30, 20)?,
//!     HostMatrixMut::row_major(&mut c, 40, 20)?,
//!     &options,
//!     |_| std::ops::ControlFlow::Continue(()),
//! )?;
//! assert!(moved.tiles > 1 && c[799] == 60.0);
//! # Ok(())
//! # }
//! ```

mod check;
mod file;
mod matrix;
mod run;
mod tiling;

pub use check::{check, draw, fill};
pub use file::{MappedMatrix, MappedMatrixMut};
pub use matrix::{HostMatrix, HostMatrixMut, Order};
pub use run::{Moved, Options, Progress, gemm};
pub use tiling::{Reuse, Sizes, Tiling};

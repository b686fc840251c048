//! warpladder's `cuda_std`, under the package name that crates written for Rust-CUDA depend on.
//!
//! Everything is in `warpladder-cuda-std`; this package is for `[patch.crates-io]` and for
//! dependencies by git or path.

#![no_std]

#[cfg(target_arch = "nvptx64")]
extern crate alloc;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std as alloc;

pub use warpladder_cuda_std::*;
// Rust-CUDA has no `assert` of its own: `use cuda_std::*` leaves core's unambiguous.
pub use core::assert;

/// Rust-CUDA's prelude.
pub mod prelude {
    pub use alloc::borrow::ToOwned;
    pub use alloc::boxed::Box;
    pub use alloc::format;
    pub use alloc::rc::Rc;
    pub use alloc::string::{String, ToString};
    pub use alloc::vec::Vec;
    pub use warpladder_cuda_std::{assert_eq, assert_ne, f16, kernel, print, println, thread};
}

//! Pictures of a kernel, drawn from what `ptx-emulator` saw of it.
//!
//! [`AccessTrace`] is an observer of a launch: it keeps the memory accesses of one warp.
//! [`accesses`] draws them as SVG, for light and dark pages, and says the same in words.
//!
#![doc = include_str!("../README.md")]

mod accesses;
mod svg;
mod trace;

pub use accesses::accesses;
pub use trace::{AccessTrace, Traced, Watched};

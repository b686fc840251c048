//! The kernels.
#![deny(unsafe_code)]

pub mod scale;
pub mod tiled;
pub mod transpose_padded;
pub mod vecadd;

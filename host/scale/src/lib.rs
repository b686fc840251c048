//! Matrix products that are larger than a GPU, and products on several GPUs.
//!
//! | module | what it is |
//! |---|---|
//! | [`comm`] | ranks: NCCL, loaded at run time, and emulated ranks in one process |
//! | [`dist`] | products whose matrices are divided among ranks |
//! | [`stream`] | products of host matrices and files, in tiles through one device |
//! | [`trial`] | a divided product that is checked and timed; which ranks are slow |
//! | [`partition`] | how rows, columns and ranks are divided |
//!
//! Local products are those of [`warpladder::gpu::Gpu`]. How long all this takes on GPUs with given
//! links is predicted by `warpladder_models::links`.

pub mod comm;
pub mod dist;
mod error;
pub mod partition;
pub mod stream;
pub mod trial;

pub use error::{CommError, ScaleError};

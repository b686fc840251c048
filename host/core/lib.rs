//! Matrix multiplication (GEMM), transposes and own kernels on NVIDIA GPUs, and without a GPU on a
//! PTX emulator.
//!
//! [`gpu`] is what most programs want: `Gpu::new()`, matrices in, matrices out. The modules below
//! it are for programs that load and launch PTX by themselves:
//!
//! | module | what it is |
//! |---|---|
//! | [`gpu`] | GEMM, transposes and own kernels on nalgebra matrices, slices and device memory |
//! | [`gemm`] | GEMM as launches: which kernel computes one, and with which parameters |
//! | [`plan`] | launches that are planned, and the same with their kernels loaded |
//! | [`timing`] | how launches are timed, and the statistics of what was measured |
//! | [`engine`] | where a kernel runs: the GPU or the emulator |
//! | [`device`] | what a GPU is: the device query |
//! | [`ptx`] | the PTX modules that ship |
//! | [`launch`] | grids, arguments, parameters |
//! | [`element`] | element types |
//! | [`check`] | whether an output is right |
//! | [`error`] | what goes wrong where kernels run |
//! | [`memory`] | the host's memory |

pub mod check;
pub mod device;
pub mod element;
pub mod engine;
pub mod error;
pub mod gemm;
pub mod gpu;
pub mod launch;
pub mod memory;
pub mod plan;
pub mod ptx;
mod sync;
pub mod timing;

/// The crate whose matrices [`gpu`] takes and returns: types of another version of it are other
/// types.
pub use nalgebra;

/// Where the workspace's sources were when this was built.
pub const SOURCE_ROOT: &str = env!("CARGO_MANIFEST_DIR");

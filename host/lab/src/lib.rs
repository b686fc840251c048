//! The laboratory: kernels of the catalogue, checked, timed and explained.
//!
//! Everything hangs on one table, the [`catalogue`]: which kernels there are, what they compute,
//! which sizes they take, how they are launched. A module knows those above it in this list:
//!
//! | module | what it is |
//! |---|---|
//! | [`engine`] | the GPU, opened with cust, or the emulator |
//! | [`problem`] | inputs, parameters, right answers |
//! | [`cpu`] | products on the host, to compare with |
//! | [`element`] | the dispatch over element types |
//! | [`catalogue`] | the only list of kernels |
//! | [`results`] | the files that commands write, and what reads them |
//! | [`run`] | a rung checked and timed, as a record |
//! | [`baseline`] | a run beside a saved one |
//! | [`profile`] | a rung run under counters |
//! | [`trace`] | the accesses of one warp, lane by lane |
//! | [`ladder`] | why a rung is faster than the one before it, from counters |
//! | [`sanitize`] | a rung run under sanitizers |
//! | `peer`, [`compare`] | a rung beside cuBLAS or a copy, in turn on one GPU; on Linux |
//! | [`calibrate`] | what only kernels tell of a GPU, measured |
//! | [`predict`] | how long a rung should take: the models, fed with what the emulator counts |
//! | [`sweep`] | throughput over warps, sizes or blocks, predicted and measured |
//! | [`reproduce`] | the sources' figures and steps beside ours |
//! | [`tune`] | candidates for a GEMM, timed, and the fastest one kept |
//! | [`emulate`] | arguments for kernels of any PTX file |

pub mod baseline;
pub mod calibrate;
pub mod catalogue;
pub mod compare;
pub mod cpu;
pub mod element;
pub mod emulate;
pub mod engine;
pub mod ladder;
pub mod observe;
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub mod peer;
pub mod predict;
pub mod problem;
pub mod profile;
pub mod reproduce;
pub mod results;
pub mod run;
mod sample;
pub mod sanitize;
pub mod sweep;
pub mod trace;
pub mod tune;

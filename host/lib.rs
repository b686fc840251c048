//! GPU kernels in Rust: run, checked and timed, on an NVIDIA GPU or on the PTX emulator.
//!
//! The layers, each of which knows only those above it:
//!
//! | module | what it is |
//! |---|---|
//! | [`ptx`] | the PTX modules that ship |
//! | [`engine`] | where a kernel runs: the GPU or the emulator |
//! | [`device`] | what a GPU is: the device query |
//! | [`cpu`] | products on the host, to compare with |
//! | [`element`], [`check`], [`problem`] | inputs, parameters, right answers |
//! | [`measure`] | how launches are timed, and statistics |
//! | [`plan`] | the launches that a rung consists of |
//! | [`gemm`] | general products as launches |
//! | [`gpu`] | what other programs call: products, transposes and own kernels on nalgebra matrices and slices |
//! | [`catalogue`] | the only list of kernels |
//! | [`model`] | performance models: pure functions of numbers |
//! | [`calibrate`] | what only kernels tell of a GPU, measured |
//! | [`run`] | a rung checked and timed, as a record |
//! | [`baseline`] | a run beside a saved one |
//! | [`profile`] | a rung run under counters |
//! | [`predict`] | how long a rung should take: the models, fed with what the emulator counts |
//! | [`explain`] | a rung on one page: source with counters, roofs, and what would help most |
//! | [`sweep`] | throughput over warps, sizes or blocks, predicted and measured |
//! | [`sanitize`] | a rung run under sanitizers |
//! | [`reproduce`] | the sources' figures and steps beside ours |
//! | [`plot`] | plots as SVG |
//! | [`report`] | one page with everything |
//! | `peer`, `compare` | a rung beside cuBLAS or a copy, in turn on one GPU; on Linux |
//! | [`tune`] | ways to compute a general product, timed, and the fastest one kept |
//! | [`emulate`] | arguments for kernels of any PTX file |
//! | [`learn`] | exercises: kernels with a hole, checked on the emulator |
//! | [`cli`] | the command line |

pub mod baseline;
pub mod calibrate;
pub mod catalogue;
pub mod check;
pub mod cli;
#[cfg(gpu)]
pub mod compare;
pub mod cpu;
pub mod device;
pub mod element;
pub mod emulate;
pub mod engine;
pub mod explain;
pub mod gemm;
pub mod gpu;
pub mod learn;
pub mod measure;
pub mod memory;
pub mod model;
#[cfg(gpu)]
pub mod peer;
pub mod plan;
pub mod plot;
pub mod predict;
pub mod problem;
pub mod profile;
pub mod ptx;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod sanitize;
pub mod sweep;
pub mod tune;

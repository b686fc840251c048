//! Performance models: how fast a kernel can be on a GPU, and why it is no faster.
//!
//! Pure functions of plain numbers: nothing here runs a kernel. Each module's documentation carries
//! its formula, the symbols of its source beside ours, and the units.
//!
//! | module | question | source |
//! |---|---|---|
//! | [`devices`] | what can this GPU do? | datasheets and measurements, figure by figure |
//! | [`roofline`] | is it arithmetic or data that bounds the work, and where in the memory hierarchy? | 001; Williams et al. 2009 |
//! | [`occupancy`] | how many blocks are resident, and what stops the next one? | 001; CUDA occupancy calculator |
//! | [`littles_law`] | how much must be in flight to hide a latency, and is it? | 000 |
//! | [`coalescing`] | how many sectors does an access of a warp touch? | 003 |
//! | [`bank_conflicts`] | in how many wavefronts is a shared access of a warp served? | 003 |
//! | [`interval`] | how long does one thread take for one round, and how many threads saturate what? | 002 |
//! | [`target`] | does this GPU run the kernel at all? | PTX ISA |
//! | [`links`] | how long does a product take on several GPUs, and how is it divided? | Hockney 1994 |
//! | [`predict`](mod@predict) | all of it together: a time and what limits it | |
//!
//! Sources 000 to 004 are the course notes that this project's kernels are from: 000 is CSE 260,
//! lecture 9 (Baden), 001 is ECE 408, lecture 5, 002 is "GPU Microarchitecture Note Set 5: Interval
//! Analysis", 003 is the matrix transpose of the CINECA CUDA course, 004 is Wolfe's "Optimizing GPU
//! Kernels".
//!
//! Units: times are in cycles of the multiprocessors' clock unless a name says seconds or
//! nanoseconds; GB/s is 10⁹ bytes per second; GFLOP/s counts a fused multiply-add as two.

pub mod bank_conflicts;
pub mod coalescing;
pub mod devices;
mod figure;
pub mod interval;
pub mod links;
pub mod littles_law;
pub mod occupancy;
mod pattern;
pub mod predict;
mod resource;
pub mod roofline;
pub mod target;

pub use figure::{Basis, Figure};
pub use pattern::PatternError;
pub use resource::Bound;

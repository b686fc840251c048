//! A kernel beside a peer: the same work, timed in turn on one GPU, and both results checked.
//!
//! Clocks and temperature of a GPU drift, so times of two programs run one after the other do not
//! compare. Here the two are timed alternately, in the order A B B A, and the ratio is that of
//! neighbours: what drifts cancels. Small problems would stay in the L2 cache from launch to
//! launch; they go round through several copies of their data that together exceed it.

#[cfg(all(target_os = "linux", feature = "gpu"))]
mod choice;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod comparer;
mod comparison;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod contestant;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod products;
#[cfg(all(target_os = "linux", feature = "gpu"))]
mod rounds;
mod summary;

#[cfg(all(target_os = "linux", feature = "gpu"))]
pub use comparer::{CompareError, Comparer, Options};
pub use comparison::{Heuristics, OtherPeer, PeerComparison};
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub use contestant::Peer;
pub use summary::{Summary, Worst, summaries};
pub use warpladder::gemm::layout::Layout;

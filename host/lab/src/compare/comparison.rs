//! What comes out of a comparison.

use super::Layout;
use warpladder::check::Method;
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;

/// How an algorithm of cuBLASLt was found.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Heuristics {
    /// How many algorithms were timed, of those that the heuristics gave.
    pub tried: usize,
    /// The number of the one that the kernel was compared with, in the heuristics' order from 0.
    pub best: usize,
    /// Bytes of workspace that it uses, of at most 128 MiB.
    pub workspace_bytes: u64,
    /// Milliseconds of the heuristics' first choice; null where it could not be launched.
    pub first_ms: Option<f64>,
    /// The same of the one that was compared, from the same samples.
    pub best_ms: f64,
}

/// The slower of two peers.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OtherPeer {
    /// Its name and version.
    pub peer: String,
    /// Its median time, in milliseconds, when the faster one was chosen.
    pub ms: f64,
}

/// A kernel and a peer on one problem: the record of `compare --json`,
/// which the report reads back.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct PeerComparison {
    /// Name of the rung.
    pub kernel: String,
    /// What it was compared with, and its version.
    pub peer: String,
    /// Element type.
    pub element: ElementType,
    /// Rows of a product's output, or of a transpose's input.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over; null elsewhere.
    pub k: Option<u32>,
    /// How the operands of a product are stored. Older files are without it: as they are.
    #[serde(default)]
    pub layout: Layout,
    /// The generation of GPUs whose kernels were compared, as 10 times the major and the minor
    /// number of its compute capability; null where none was asked for, and in older files.
    #[serde(default)]
    pub generation: Option<ComputeCapability>,
    /// The device's name.
    pub device: String,
    /// Samples of each, of all rounds.
    pub samples: usize,
    /// How often both were timed: more than once where the first ratio was below a bar. Older files
    /// are without it: once.
    #[serde(default = "once")]
    pub rounds: usize,
    /// The ratio of the first round, where there were more.
    #[serde(default)]
    pub first_ratio: Option<f64>,
    /// Launches in a sample.
    pub launches: u32,
    /// Whether they were one CUDA graph, so that no time of the host is in them. Older files are
    /// without it: each was put on a stream.
    #[serde(default)]
    pub graph: bool,
    /// Copies of the data that the launches go round through.
    pub sets: usize,
    /// Pause before each sample, in milliseconds.
    pub rest_ms: u64,
    /// Median time of the kernel, in milliseconds.
    pub median_ms: f64,
    /// Median time of the peer.
    pub peer_ms: f64,
    /// 10⁹ floating-point operations per second of the kernel; null where there are none.
    pub gflops: Option<f64>,
    /// The same of the peer.
    pub peer_gflops: Option<f64>,
    /// 10⁹ bytes per second of the kernel: every input read once, the output written once.
    pub gbs: f64,
    /// The same of the peer.
    pub peer_gbs: f64,
    /// How many times as fast as the peer, for the same work: the median over neighbouring
    /// samples, and over the rounds.
    pub ratio: f64,
    /// Lower quartile of the ratio.
    pub ratio_low: f64,
    /// Upper quartile of the ratio.
    pub ratio_high: f64,
    /// How cuBLASLt's algorithm was found, where it is the peer.
    #[serde(default)]
    pub heuristics: Option<Heuristics>,
    /// The slower peer, where the faster one was asked for.
    #[serde(default)]
    pub other_peer: Option<OtherPeer>,
    /// Whether the kernel's result was right.
    pub ok: bool,
    /// How the results were checked: every element counts, whatever the method.
    #[serde(default)]
    pub check: Option<Method>,
    /// Largest absolute difference of the kernel's result from the reference in f64; null where an
    /// element is NaN.
    pub error: Option<f64>,
    /// The same of the peer's result; null where its work is another, as that of a copy.
    pub peer_error: Option<f64>,
    /// Largest difference that passes.
    pub tolerance: f64,
    /// What was wrong first, as one line.
    pub complaint: Option<String>,
}

fn once() -> usize {
    1
}

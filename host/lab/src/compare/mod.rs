//! A kernel beside a peer: the same work, timed in turn on one GPU, and both results checked.
//!
//! Clocks and temperature of a GPU drift, so times of two programs run one after the other do not compare. Here the two
//! are timed alternately, in the order A B B A, and the ratio is that of neighbours: what drifts cancels. Small problems
//! would stay in the L2 cache from launch to launch; they go round through several copies of their data that
//! together exceed it.

mod contestant;

pub use contestant::Peer;
pub use warpladder::gemm::layout::Layout;

use crate::catalogue::Rung;
use crate::dispatch_element;
use crate::peer::cublas::{Cublas, CublasError};
use crate::problem::Shape;
use crate::run::{Admitted, RunError, preflight_layout};
use contestant::Contestants;
use std::cell::OnceCell;
use std::time::Duration;
use warpladder::check::Verdict;
use warpladder::element::{Element, ElementType};
use warpladder::engine::gpu::GpuEngine;
use warpladder::error::EngineError;
use warpladder::timing::{Quartiles, Summary};

/// A timed sample is of at least so many launches that it takes this long, in milliseconds: well above the resolution of
/// an event, 0.5 µs, and the gap between two launches.
const SAMPLE_MS: f64 = 0.25;

/// Most launches of a sample.
const MOST_LAUNCHES: u32 = 100;

/// Rounds of both before the first sample.
const WARM_UP: usize = 3;

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The kernel cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The GPU failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// cuBLAS failed.
    #[error(transparent)]
    Cublas(#[from] CublasError),
    /// The two do not do the same.
    #[error("{rung} cannot be compared with {peer}: {advice}")]
    Peer {
        /// The kernel.
        rung: &'static str,
        /// The peer.
        peer: Peer,
        /// What it can be compared with.
        advice: &'static str,
    },
}

/// How two are timed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Samples of each.
    pub reps: usize,
    /// Pause before each sample: none shows what the card sustains at its power limit, a long one what it does rested.
    pub rest: Duration,
    /// Seed of the inputs.
    pub seed: u64,
}

/// A kernel and a peer on one problem: the record of `compare --json`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Comparison {
    /// Name of the rung.
    pub kernel: &'static str,
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
    /// How the operands of a product are stored.
    pub layout: Layout,
    /// The device's name.
    pub device: String,
    /// Samples of each.
    pub samples: usize,
    /// Launches in a sample.
    pub launches: u32,
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
    /// How many times as fast as the peer, for the same work: the median over neighbouring samples.
    pub ratio: f64,
    /// Lower quartile of the ratio.
    pub ratio_low: f64,
    /// Upper quartile of the ratio.
    pub ratio_high: f64,
    /// Whether the kernel's result was right.
    pub ok: bool,
    /// Largest absolute difference of the kernel's result from the reference in f64; null where an element is NaN.
    pub error: Option<f64>,
    /// The same of the peer's result; null where its work is another, as that of a copy.
    pub peer_error: Option<f64>,
    /// Largest difference that passes.
    pub tolerance: f64,
    /// What was wrong first, as one line.
    pub complaint: Option<String>,
}

/// Compares on one GPU.
pub struct Comparer<'e> {
    engine: &'e GpuEngine,
    cublas: OnceCell<Cublas>,
    options: Options,
}

impl<'e> Comparer<'e> {
    /// Compares kernels on this GPU.
    pub fn new(engine: &'e GpuEngine, options: Options) -> Self {
        Comparer {
            engine,
            cublas: OnceCell::new(),
            options,
        }
    }

    /// Times and checks a rung and a peer on one problem.
    ///
    /// # Errors
    /// See [`CompareError`]. A wrong result is no error but a comparison that is not ok.
    pub fn compare(
        &self,
        rung: &'static Rung,
        shape: Shape,
        layout: Layout,
        peer: Peer,
    ) -> Result<Comparison, CompareError> {
        let admitted = preflight_layout(self.engine, rung, shape, layout)?;
        admitted.kernel()?;
        dispatch_element!(admitted.runs().element, T => {
            self.compare_typed::<T>(&admitted, layout, peer)
        })
    }

    fn compare_typed<T: Element>(
        &self,
        admitted: &Admitted,
        layout: Layout,
        peer: Peer,
    ) -> Result<Comparison, CompareError> {
        let Options { seed, rest, .. } = self.options;
        let (rung, shape) = (admitted.rung(), admitted.shape());
        let problem = admitted.problem::<T>(seed);
        let contestants = Contestants::new(self, admitted, layout, peer, &*problem)?;
        let (verdict, peer_verdict) = contestants.check(&*problem)?;
        let (times, launches) = self.times(&contestants)?;

        let flops = rung.operation.flops(shape);
        let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
        let gflops = |ms: f64| (flops > 0.0).then(|| flops / ms / 1e6);
        // A copy beside a transpose may be of a slightly other size: what is compared is bandwidth.
        let peer_work = contestants.peer_work();
        let [ours, theirs] = times.each_ref().map(|times| median(times));
        let ratios: Vec<f64> = times[0]
            .iter()
            .zip(&times[1])
            .map(|(ours, theirs)| theirs / ours / peer_work)
            .collect();
        let ratio = Quartiles::of(&ratios).expect("at least one sample");
        let number = |error: f64| (!error.is_nan()).then_some(error);
        Ok(Comparison {
            kernel: rung.name,
            peer: contestants.peer_name(),
            element: rung.element,
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            layout,
            device: self.engine.properties().name.clone(),
            samples: ratios.len(),
            launches,
            sets: contestants.sets(),
            rest_ms: rest.as_millis() as u64,
            median_ms: ours,
            peer_ms: theirs,
            gflops: gflops(ours),
            peer_gflops: gflops(theirs),
            gbs: bytes / ours / 1e6,
            peer_gbs: bytes * peer_work / theirs / 1e6,
            ratio: ratio.median,
            ratio_low: ratio.low,
            ratio_high: ratio.high,
            ok: verdict.ok,
            error: number(verdict.error),
            peer_error: peer_verdict.and_then(|verdict: Verdict| number(verdict.error)),
            tolerance: verdict.tolerance,
            complaint: verdict.complaint,
        })
    }

    /// Samples of both, in milliseconds per launch, and how many launches a sample has.
    fn times(&self, contestants: &Contestants<'_>) -> Result<([Vec<f64>; 2], u32), CompareError> {
        let sample = |side: usize, launches: u32| {
            let total = self.engine.time_enqueued(contestants.name(side), || {
                for launch in 0..launches as usize {
                    contestants.queue(side, launch % contestants.sets())?;
                }
                Ok::<_, CompareError>(())
            })?;
            Ok::<_, CompareError>(total / f64::from(launches))
        };
        let mut slowest = 0.0_f64;
        for _ in 0..WARM_UP {
            slowest = sample(0, 1)?.max(sample(1, 1)?);
        }
        let launches = (SAMPLE_MS / slowest)
            .ceil()
            .clamp(1.0, f64::from(MOST_LAUNCHES)) as u32;
        let mut times = [Vec::new(), Vec::new()];
        for rep in 0..self.options.reps.max(1) {
            for turn in 0..2 {
                // A B, then B A.
                let side = (rep + turn) % 2;
                std::thread::sleep(self.options.rest);
                times[side].push(sample(side, launches)?);
            }
        }
        Ok((times, launches))
    }

    fn cublas(&self) -> Result<&Cublas, CompareError> {
        if let Some(cublas) = self.cublas.get() {
            return Ok(cublas);
        }
        let stream = self.engine.stream()?;
        // SAFETY: `stream` has made its context current; the engine, which owns both, outlives this value.
        let cublas = unsafe { Cublas::load(stream) }?;
        Ok(self.cublas.get_or_init(|| cublas))
    }
}

fn median(times: &[f64]) -> f64 {
    Summary::of(times).expect("at least one sample").median
}

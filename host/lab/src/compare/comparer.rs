//! Times the two in turn on one GPU.

use super::contestant::{Contestants, Peer};
use super::{Layout, PeerComparison};
use crate::catalogue::Rung;
use crate::dispatch_element;
use crate::peer::cublas::{Cublas, CublasError};
use crate::problem::Shape;
use crate::run::{Admitted, RunError, preflight_layout};
use std::cell::OnceCell;
use std::time::Duration;
use warpladder::check::Verdict;
use warpladder::element::Element;
use warpladder::engine::gpu::GpuEngine;
use warpladder::error::EngineError;
use warpladder::timing::{Quartiles, median};

/// A timed sample has enough launches to take at least this long, in milliseconds: well
/// above the resolution of an event, 0.5 µs, and the gap between two launches.
const SAMPLE_MS: f64 = 0.25;

/// Most launches of a sample.
const MAX_LAUNCHES: u32 = 100;

/// Rounds of both before the first sample.
const WARM_UP: usize = 3;

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// Pause before each sample: none shows what the card sustains at its power limit, a long one
    /// what it does rested.
    pub rest: Duration,
    /// Seed of the inputs.
    pub seed: u64,
}

/// Compares on one GPU.
pub struct Comparer<'e> {
    pub(super) engine: &'e GpuEngine,
    cublas: OnceCell<Cublas>,
    pub(super) options: Options,
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
    ) -> Result<PeerComparison, CompareError> {
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
    ) -> Result<PeerComparison, CompareError> {
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
        let [ours, theirs] = times
            .each_ref()
            .map(|times| median(times).expect("at least one sample"));
        let ratios: Vec<f64> = times[0]
            .iter()
            .zip(&times[1])
            .map(|(ours, theirs)| theirs / ours / peer_work)
            .collect();
        let ratio = Quartiles::of(&ratios).expect("at least one sample");
        let number = |error: f64| (!error.is_nan()).then_some(error);
        Ok(PeerComparison {
            kernel: rung.name.to_owned(),
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
            .clamp(1.0, f64::from(MAX_LAUNCHES)) as u32;
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

    pub(super) fn cublas(&self) -> Result<&Cublas, CompareError> {
        if let Some(cublas) = self.cublas.get() {
            return Ok(cublas);
        }
        let stream = self.engine.stream()?;
        // SAFETY: `stream` has made its context current; the engine, which owns both, outlives this
        // value.
        let cublas = unsafe { Cublas::load(stream) }?;
        Ok(self.cublas.get_or_init(|| cublas))
    }
}

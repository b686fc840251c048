//! Times the two in turn on one GPU.

use super::contestant::{Contestants, Peer};
use super::products::{CUBLAS_WORKSPACE_BYTES, WORKSPACE_BYTES};
use super::rounds::{Round, Timed};
use super::{Layout, PeerComparison};
use crate::catalogue::Rung;
use crate::dispatch_element;
use crate::peer::cublas::Cublas;
use crate::peer::cublaslt::CublasLt;
use crate::peer::library::{LibraryError, Workspace};
use crate::problem::Shape;
use crate::run::{Admitted, RunError, Variant, preflight_with};
use crate::sample::sample;
use std::cell::OnceCell;
use std::time::Duration;
use warpladder::check::Verdict;
use warpladder::device::ComputeCapability;
use warpladder::element::Element;
use warpladder::engine::gpu::{GpuEngine, QueuedGraph};
use warpladder::engine::{Buffer, LaunchGraph};
use warpladder::error::EngineError;

/// Launches of both before the first sample.
const WARM_UP: usize = 3;

/// How often a problem is timed again where its ratio is below the bar.
const TIMED_AGAIN: usize = 3;

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
    /// A library that it is compared with failed.
    #[error(transparent)]
    Library(#[from] LibraryError),
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

impl CompareError {
    /// Whether the kernel or the peer does not take this one problem: others may be compared.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            CompareError::Run(_) | CompareError::Library(LibraryError::NoAlgorithm(_))
        )
    }
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
    /// A problem whose ratio is below this is timed three times more.
    pub retime_below: Option<f64>,
    /// The generation of GPUs whose kernels are compared, see [`Variant::generation`].
    pub generation: Option<ComputeCapability>,
}

/// Compares on one GPU.
pub struct Comparer<'e> {
    pub(super) engine: &'e GpuEngine,
    cublas: OnceCell<Cublas>,
    cublaslt: OnceCell<CublasLt>,
    // After the libraries, which it is dropped after.
    workspace: OnceCell<Buffer<'e>>,
    pub(super) options: Options,
}

impl<'e> Comparer<'e> {
    /// Compares kernels on this GPU.
    pub fn new(engine: &'e GpuEngine, options: Options) -> Self {
        Comparer {
            engine,
            cublas: OnceCell::new(),
            cublaslt: OnceCell::new(),
            workspace: OnceCell::new(),
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
        let variant = Variant {
            layout,
            generation: self.options.generation,
        };
        let admitted = preflight_with(self.engine, rung, shape, variant)?;
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
        // A copy beside a transpose may be of a slightly other size: what is compared is bandwidth.
        let peer_work = contestants.peer_work();
        let (first, launches) = self.round(&contestants)?;
        let first_ratio = first.ratio(peer_work);
        let mut rounds = vec![first];
        let is_below = |bar: f64| first_ratio.is_some_and(|ratio| ratio < bar);
        if self.options.retime_below.is_some_and(is_below) {
            for _ in 0..TIMED_AGAIN {
                rounds.push(self.round(&contestants)?.0);
            }
        }
        let timed = Timed::of(&rounds, peer_work).expect("at least one sample");

        let flops = rung.operation.flops(shape);
        let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
        let gflops = |ms: f64| (flops > 0.0).then(|| flops / ms / 1e6);
        let [ours, theirs] = timed.ms;
        let (heuristics, other_peer) = contestants.chosen();
        let number = |error: f64| (!error.is_nan()).then_some(error);
        Ok(PeerComparison {
            kernel: rung.name.to_owned(),
            peer: contestants.peer_name(),
            element: rung.element,
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            layout,
            generation: self.options.generation,
            device: self.engine.properties().name.clone(),
            samples: timed.samples,
            rounds: rounds.len(),
            first_ratio: first_ratio.filter(|_| rounds.len() > 1),
            launches,
            graph: is_graph(launches),
            sets: contestants.sets(),
            rest_ms: rest.as_millis() as u64,
            median_ms: ours,
            peer_ms: theirs,
            gflops: gflops(ours),
            peer_gflops: gflops(theirs),
            gbs: bytes / ours / 1e6,
            peer_gbs: bytes * peer_work / theirs / 1e6,
            ratio: timed.ratio,
            ratio_low: timed.low,
            ratio_high: timed.high,
            heuristics,
            other_peer,
            ok: verdict.ok,
            check: Some(verdict.method),
            error: number(verdict.error),
            peer_error: peer_verdict.and_then(|verdict: Verdict| number(verdict.error)),
            tolerance: verdict.tolerance,
            complaint: verdict.complaint,
        })
    }

    /// Samples of both in turn, and how many launches a sample has.
    fn round(&self, contestants: &Contestants<'_>) -> Result<(Round, u32), CompareError> {
        let queue =
            |side: usize| move |launch: usize| contestants.queue(side, launch % contestants.sets());
        let mut slowest = 0.0_f64;
        for _ in 0..WARM_UP {
            for side in 0..2 {
                slowest = slowest.max(self.sample(contestants.name(side), 1, queue(side))?);
            }
        }
        let of_side = |side, launches| Sampled::new(self.engine, launches, queue(side));
        let (sampled, launches) = sample(
            contestants.sets(),
            slowest,
            |launches| Ok::<_, CompareError>([of_side(0, launches)?, of_side(1, launches)?]),
            |sampled, _| {
                let [ours, peer] = [0, 1].map(|side| sampled[side].time(contestants.name(side)));
                Ok(ours?.max(peer?))
            },
        )?;
        let mut times = [Vec::new(), Vec::new()];
        for rep in 0..self.options.reps.max(1) {
            for turn in 0..2 {
                // A B, then B A.
                let side = (rep + turn) % 2;
                std::thread::sleep(self.options.rest);
                times[side].push(sampled[side].time(contestants.name(side))?);
            }
        }
        Ok((Round { times }, launches))
    }

    /// Milliseconds of a launch, from several that `queue` puts on the stream.
    pub(super) fn sample(
        &self,
        what: &str,
        launches: u32,
        queue: impl Fn(usize) -> Result<(), CompareError>,
    ) -> Result<f64, CompareError> {
        Sampled::new(self.engine, launches, queue)?.time(what)
    }

    pub(super) fn cublas(&self) -> Result<&Cublas, CompareError> {
        get_or_try_init(&self.cublas, || {
            let workspace = self.workspace(CUBLAS_WORKSPACE_BYTES)?;
            let stream = self.engine.stream()?;
            // SAFETY: `stream` has made its context current; the engine, which owns both, outlives
            // this value, and the workspace is dropped after it.
            Ok(unsafe { Cublas::load(stream, workspace) }?)
        })
    }

    /// cuBLASLt, and memory for its algorithms.
    pub(super) fn cublaslt(&self) -> Result<(&CublasLt, Workspace), CompareError> {
        let library = get_or_try_init(&self.cublaslt, || {
            let stream = self.engine.stream()?;
            // SAFETY: `stream` has made its context current; the engine, which owns both, outlives
            // this value.
            Ok(unsafe { CublasLt::load(stream) }?)
        })?;
        Ok((library, self.workspace(WORKSPACE_BYTES)?))
    }

    /// The first bytes of the workspace: the libraries share it, as one stream orders their work.
    fn workspace(&self, bytes: usize) -> Result<Workspace, CompareError> {
        let pointer = get_or_try_init(&self.workspace, || {
            Ok(Buffer::new(self.engine, WORKSPACE_BYTES)?)
        })?
        .ptr();
        Ok(Workspace { pointer, bytes })
    }
}

/// What the cell holds, made where it is empty. `OnceCell` has this in unstable Rust alone.
fn get_or_try_init<T>(
    cell: &OnceCell<T>,
    make: impl FnOnce() -> Result<T, CompareError>,
) -> Result<&T, CompareError> {
    match cell.get() {
        Some(made) => Ok(made),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

/// The launches of a sample, `queue` for each: several as a graph, so that the GPU never waits for
/// the host, whose part differs from library to library and from machine to machine.
struct Sampled<'e, Q> {
    engine: &'e GpuEngine,
    launches: u32,
    queue: Q,
    graph: Option<QueuedGraph<'e>>,
}

impl<'e, Q: Fn(usize) -> Result<(), CompareError>> Sampled<'e, Q> {
    /// `queue` has run before where there are several: the first launch of a kernel may load it.
    fn new(engine: &'e GpuEngine, launches: u32, queue: Q) -> Result<Self, CompareError> {
        let mut sampled = Sampled {
            engine,
            launches,
            queue,
            graph: None,
        };
        if is_graph(launches) {
            // SAFETY: contestants and libraries outlive their samples.
            sampled.graph = Some(unsafe { engine.capture(|| sampled.queue_all()) }?);
        }
        Ok(sampled)
    }

    fn queue_all(&self) -> Result<(), CompareError> {
        (0..self.launches as usize).try_for_each(&self.queue)
    }

    /// Milliseconds of a launch.
    fn time(&self, what: &str) -> Result<f64, CompareError> {
        let total = match &self.graph {
            Some(graph) => graph.time(what)?,
            None => self.engine.time_enqueued(what, || self.queue_all())?,
        };
        Ok(total / f64::from(self.launches))
    }
}

/// Whether a sample of `launches` launches is timed as a graph.
fn is_graph(launches: u32) -> bool {
    launches > 1
}

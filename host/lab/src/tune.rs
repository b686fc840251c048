//! Candidates for a matrix multiplication (GEMM), each checked and timed on the device.

use crate::engine::copies_beyond_cache;
use crate::problem::product::Product;
use crate::problem::{Problem, Shape};
use kernels_gpu::gemm::planner::GemmPlan;
use std::collections::HashSet;
use std::time::Instant;
use warpladder::check::Verdict;
use warpladder::engine::{Buffer, Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::gemm::tuning::{Environment, ProblemKey, Tuned};
use warpladder::gemm::{self, Description, DeviceLimits, GemmElement, PlanError};
use warpladder::launch::DevicePtr;
use warpladder::plan::{Operands, Prepared};
use warpladder::timing::median;

/// A candidate is timed if the model gives it at most this multiple of its favourite's time.
const MAX_TIMES_THE_BEST: f64 = 2.0;

/// The most candidates that are timed.
const MAX_CANDIDATES: usize = 48;

/// A sample is of as many products as take this long, in seconds: well above the cost of waiting
/// for them.
pub const SAMPLE_SECONDS: f64 = 1e-3;

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// No kernel takes the product.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A configuration of kernels for a product.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// How.
    pub choice: GemmPlan,
    /// Clocks by the model.
    pub predicted: f64,
    /// Median time, in milliseconds.
    pub ms: f64,
    /// Whether the result was right.
    pub verdict: Verdict,
}

/// All candidates that were timed with inputs drawn by `seed`: the fastest of those with right
/// results first, and those with wrong ones last.
///
/// # Errors
/// See [`TuneError`].
pub fn candidates<T: GemmElement>(
    engine: &dyn Engine,
    shape: Shape,
    transposed: [bool; 2],
    reps: usize,
    seed: u64,
) -> Result<Vec<Candidate>, TuneError> {
    let device = DeviceLimits::of(engine);
    let description = Description::<T>::dense([shape.m, shape.n, shape.k], transposed);
    description.check()?;
    let problem = Product::<T>::row_major(shape, seed).stored(transposed);
    let bench = Bench::new(engine, &description, &problem)?;
    let mut candidates = Vec::new();
    for (predicted, choice) in shortlist(&description, device) {
        let prepared = Prepared::new(engine, gemm::plan_choice(&description, device, &choice))?;
        let workspace = prepared.workspace(engine)?;
        let verdict = bench.check(&prepared, &workspace, &problem)?;
        candidates.push((predicted, choice, prepared, workspace, verdict));
    }
    let mut times = vec![Vec::new(); candidates.len()];
    // In turn, so that a change of the clock meets all of them.
    for _ in 0..reps.max(1) {
        for ((_, _, prepared, workspace, _), times) in candidates.iter().zip(&mut times) {
            times.push(bench.time(prepared, workspace)?);
        }
    }
    let mut candidates: Vec<Candidate> = candidates
        .into_iter()
        .zip(times)
        .map(|((predicted, choice, _, _, verdict), times)| Candidate {
            choice,
            predicted,
            ms: median(&times).unwrap_or(f64::INFINITY),
            verdict,
        })
        .collect();
    candidates.sort_by(|a, b| {
        (!a.verdict.ok, a.ms)
            .partial_cmp(&(!b.verdict.ok, b.ms))
            .expect("times are numbers")
    });
    Ok(candidates)
}

/// How many candidates are timed for a problem.
///
/// # Errors
/// See [`TuneError`].
pub fn count<T: GemmElement>(
    engine: &dyn Engine,
    shape: Shape,
    transposed: [bool; 2],
) -> Result<usize, TuneError> {
    let description = Description::<T>::dense([shape.m, shape.n, shape.k], transposed);
    description.check()?;
    Ok(shortlist(&description, DeviceLimits::of(engine)).len())
}

/// What is kept of the fastest candidate, for the tuning file.
pub fn tuned<T: GemmElement>(
    engine: &dyn Engine,
    shape: Shape,
    transposed: [bool; 2],
    candidate: &Candidate,
) -> Tuned {
    let description = Description::<T>::dense([shape.m, shape.n, shape.k], transposed);
    Tuned::new(
        Environment::of(engine),
        ProblemKey::of(&description),
        &candidate.choice,
        candidate.ms,
    )
}

/// The candidates that are timed, the model's favourite first.
fn shortlist<T: GemmElement>(
    description: &Description<T>,
    device: DeviceLimits,
) -> Vec<(f64, GemmPlan)> {
    let kernels = T::kernels(device.compute_capability, description.c_16bit);
    let problem = description.problem(device);
    let mut all: Vec<(f64, GemmPlan)> = kernels.candidates(&problem).collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let most = all
        .first()
        .map_or(0.0, |(best, _)| best * MAX_TIMES_THE_BEST);
    let mut seen = HashSet::new();
    all.retain(|(clocks, choice)| {
        let decomposition = choice.decomposition;
        let splits = (decomposition.splits(), decomposition.stream_k().is_some());
        *clocks <= most && seen.insert((choice.entry, choice.cluster_shape().extents(), splits))
    });
    all.truncate(MAX_CANDIDATES);
    all
}

/// The matrices of a product on the device, in as many copies as keep a launch from finding them in
/// the cache.
struct Bench<'e, T> {
    engine: &'e dyn Engine,
    copies: Vec<Matrices<'e>>,
    output_len: usize,
    factors: [T; 2],
}

/// One copy of them.
struct Matrices<'e> {
    inputs: [(Buffer<'e>, u64); 2],
    output: Buffer<'e>,
}

impl<'e, T: GemmElement> Bench<'e, T> {
    fn new(
        engine: &'e dyn Engine,
        description: &Description<T>,
        problem: &Product<T>,
    ) -> Result<Self, EngineError> {
        let output_len = problem.output_len();
        let output_bytes = output_len * size_of::<T>();
        let input = |index: usize| {
            let values = &problem.inputs()[index];
            let buffer = Buffer::new(engine, size_of_val(&values[..]))?;
            buffer.upload(values)?;
            Ok::<_, EngineError>((buffer, values.len() as u64))
        };
        let copy = |_| {
            Ok(Matrices {
                inputs: [input(0)?, input(1)?],
                output: Buffer::new(engine, output_bytes)?,
            })
        };
        let input_bytes: usize = problem.inputs().iter().map(|v| size_of_val(&v[..])).sum();
        let copies = copies_beyond_cache(engine, (input_bytes + output_bytes) as u64);
        Ok(Bench {
            engine,
            copies: (0..copies).map(copy).collect::<Result<_, EngineError>>()?,
            output_len,
            factors: [description.alpha, description.beta],
        })
    }

    fn enqueue(
        &self,
        prepared: &Prepared,
        workspace: &Buffer<'_>,
        matrices: &Matrices<'_>,
    ) -> Result<(), EngineError> {
        let operands = Operands {
            inputs: &matrices
                .inputs
                .each_ref()
                .map(|(buffer, len)| (buffer.ptr(), *len)),
            output: matrices.output.ptr(),
            workspace: workspace.ptr(),
            // These kernels read none.
            maps: DevicePtr(0),
        };
        // SAFETY: the buffers hold the operands of the problem that the plan was made for, and live
        // until the device was waited for.
        unsafe { prepared.enqueue(self.engine, &operands, self.factors) }
    }

    /// Runs once on an output of NaN, and checks it.
    fn check(
        &self,
        prepared: &Prepared,
        workspace: &Buffer<'_>,
        problem: &Product<T>,
    ) -> Result<Verdict, EngineError> {
        let mut output = vec![T::NAN; self.output_len];
        let matrices = &self.copies[0];
        matrices.output.upload(&output)?;
        self.enqueue(prepared, workspace, matrices)?;
        self.engine.synchronize()?;
        matrices.output.download(&mut output)?;
        Ok(problem.check(&output))
    }

    /// The time of one product, in milliseconds.
    fn time(&self, prepared: &Prepared, workspace: &Buffer<'_>) -> Result<f64, EngineError> {
        let seconds = |products: usize| {
            let start = Instant::now();
            for matrices in self.copies.iter().cycle().take(products) {
                self.enqueue(prepared, workspace, matrices)?;
            }
            self.engine.synchronize()?;
            Ok::<_, EngineError>(start.elapsed().as_secs_f64())
        };
        let once = seconds(1)?;
        if self.engine.kind() == EngineKind::Emulator {
            return Ok(once * 1e3);
        }
        let products = (SAMPLE_SECONDS / once).ceil().clamp(1.0, 100.0) as usize;
        Ok(seconds(products)? / products as f64 * 1e3)
    }
}

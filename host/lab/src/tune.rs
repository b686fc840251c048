//! Candidates for a matrix multiplication (GEMM), each checked and timed on the device.

use crate::problem::product::Product;
use crate::problem::tensor::TensorProduct;
use crate::problem::{Problem, Shape};
use crate::run::pointers;
use crate::sample::{SAMPLE_MS, copies_beyond_cache, sample};
use half::{bf16, f16};
use kernels_gpu::gemm::planner::GemmPlan;
use std::collections::HashSet;
use std::time::Instant;
use warpladder::check::Verdict;
use warpladder::element::{Element, TensorInput};
use warpladder::engine::{Buffer, Engine, EngineKind, LaunchGraph};
use warpladder::error::EngineError;
use warpladder::gemm::tuning::{Choices, Environment, ProblemKey, Tuned};
use warpladder::gemm::{self, Description, DeviceLimits, GemmInput, PlanError, Tf32};
use warpladder::launch::DevicePtr;
use warpladder::plan::{Operands, Plan, Prepared};
use warpladder::timing::median;

/// A candidate is timed if the model gives it at most this multiple of its favourite's time.
const MAX_TIMES_THE_BEST: f64 = 2.0;

/// The most candidates that are timed.
const MAX_CANDIDATES: usize = 64;

/// Seconds of a sample, or as long as one product takes.
pub const SAMPLE_SECONDS: f64 = SAMPLE_MS * 1e-3;

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

/// An element type whose products are tuned, with a C of f32, or of f64 for f64.
pub trait Tunable: GemmInput {
    /// What the arrays of a product are made of: the type of C, which holds smaller elements of A
    /// and B as words.
    type Stored: Element;

    /// A product with inputs drawn by `seed`.
    fn product(shape: Shape, seed: u64, transposed: [bool; 2]) -> Box<dyn Problem<Self::Stored>>;
}

macro_rules! tunable {
    ($($element:ty),*; $($of_input:ty as $input:ident),*) => {
        $(impl Tunable for $element {
            type Stored = $element;

            fn product(shape: Shape, seed: u64, of: [bool; 2]) -> Box<dyn Problem<$element>> {
                Box::new(Product::row_major(shape, seed).stored(of))
            }
        })*

        $(impl Tunable for $of_input {
            type Stored = f32;

            fn product(shape: Shape, seed: u64, of: [bool; 2]) -> Box<dyn Problem<f32>> {
                Box::new(TensorProduct::new(shape, TensorInput::$input, seed).stored(of))
            }
        })*
    };
}

tunable!(f32, f64; bf16 as Bf16, f16 as F16, Tf32 as Tf32);

/// A configuration of kernels for a product.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The kernel, the last one where there are several.
    pub entry: &'static str,
    /// How; `None` for what the library does if nothing is kept, where that is no plan of the
    /// kernels that the others are chosen from: copies of operands before other kernels, or none.
    pub choice: Option<GemmPlan>,
    /// Clocks by the model, of the plans of one set of kernels.
    pub predicted: Option<f64>,
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
pub fn candidates<T: Tunable>(
    engine: &dyn Engine,
    shape: Shape,
    transposed: [bool; 2],
    reps: usize,
    seed: u64,
) -> Result<Vec<Candidate>, TuneError> {
    let device = DeviceLimits::of(engine);
    let description = Description::<T>::dense([shape.m, shape.n, shape.k], transposed);
    description.check()?;
    let problem = T::product(shape, seed, transposed);
    let bench = Bench::new(engine, &description, &*problem)?;
    let mut trials = plans(&description, device)?
        .into_iter()
        .map(|(plan, chosen)| {
            let last = plan.launches.last().map_or("", |launch| launch.entry);
            let mut trial = bench.trial(Prepared::new(engine, plan)?)?;
            let candidate = Candidate {
                entry: chosen.map_or(last, |(_, choice)| choice.entry),
                choice: chosen.map(|(_, choice)| choice),
                predicted: chosen.map(|(predicted, _)| predicted),
                ms: f64::INFINITY,
                verdict: bench.check(&trial, &*problem)?,
            };
            trial.sample = bench.sample(&trial)?;
            Ok((trial, candidate, Vec::new()))
        })
        .collect::<Result<Vec<_>, EngineError>>()?;
    // In turn, so that a change of the clock meets all of them.
    for _ in 0..reps.max(1) {
        for (trial, _, times) in &mut trials {
            times.push(bench.time(trial)?);
        }
    }
    let mut candidates: Vec<Candidate> = trials
        .into_iter()
        .map(|(_, candidate, times)| Candidate {
            ms: median(&times).unwrap_or(f64::INFINITY),
            ..candidate
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
pub fn count<T: Tunable>(
    engine: &dyn Engine,
    shape: Shape,
    transposed: [bool; 2],
) -> Result<usize, TuneError> {
    let description = Description::<T>::dense([shape.m, shape.n, shape.k], transposed);
    description.check()?;
    Ok(plans(&description, DeviceLimits::of(engine))?.len())
}

/// What is kept of the fastest candidate, for the tuning file: nothing of what the library does
/// without.
pub fn tuned<T: Tunable>(
    engine: &dyn Engine,
    shape: Shape,
    transposed: [bool; 2],
    candidate: &Candidate,
) -> Option<Tuned> {
    let description = Description::<T>::dense([shape.m, shape.n, shape.k], transposed);
    let key = ProblemKey::of(&description);
    let choice = candidate.choice.as_ref()?;
    Some(Tuned::new(
        Environment::of(engine),
        key,
        choice,
        candidate.ms,
    ))
}

/// A plan, and what was chosen for it, with the clocks of the model.
type Chosen = (Plan, Option<(f64, GemmPlan)>);

/// The plans that are timed: those of the shortlist, and the library's own where it is none of
/// them.
fn plans<T: GemmInput>(
    description: &Description<T>,
    device: DeviceLimits,
) -> Result<Vec<Chosen>, PlanError> {
    let untuned = gemm::plan(description, device, &Choices::default())?;
    let of_choice = |(predicted, choice): (f64, GemmPlan)| {
        let plan = gemm::plan_choice(description, device, &choice);
        (plan, Some((predicted, choice)))
    };
    let mut all: Vec<Chosen> = shortlist(description, device)
        .into_iter()
        .map(of_choice)
        .collect();
    if all.iter().all(|(plan, _)| *plan != untuned) {
        all.push((untuned, None));
    }
    Ok(all)
}

/// The candidates that are timed, the model's favourite first.
fn shortlist<T: GemmInput>(
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
        let splits = (
            decomposition.splits(),
            decomposition.stream_k().map(|of| of.reduction as u32),
        );
        let tiles = (
            choice.entry,
            choice.tile_columns(),
            choice.cluster_shape().extents(),
        );
        *clocks <= most && seen.insert((tiles, splits))
    });
    all.truncate(MAX_CANDIDATES);
    all
}

/// The matrices of a product on the device, in as many copies as keep a launch from finding them in
/// the cache.
struct Bench<'e, T: GemmInput> {
    engine: &'e dyn Engine,
    copies: Vec<Matrices<'e>>,
    output_len: usize,
    factors: [T::Output; 2],
}

/// One copy of them.
struct Matrices<'e> {
    /// Of A and B, which are kept: a launch that is timed allocates nothing.
    pointers: Vec<(DevicePtr, u64)>,
    _inputs: Vec<(Buffer<'e>, u64)>,
    output: Buffer<'e>,
}

/// A plan whose kernels are loaded, with what it needs on the device.
struct Trial<'e> {
    prepared: Prepared,
    workspace: Buffer<'e>,
    /// The tensor maps of each copy of the matrices.
    maps: Vec<Buffer<'e>>,
    sample: Sample<'e>,
}

/// Products that are timed together.
#[derive(Default)]
struct Sample<'e> {
    products: u32,
    /// They start as a graph, so that the GPU never waits for the host: users' graphs, and queues
    /// that are long enough, run so.
    graph: Option<Box<dyn LaunchGraph + 'e>>,
}

impl<'e, T: Tunable> Bench<'e, T> {
    fn new(
        engine: &'e dyn Engine,
        description: &Description<T>,
        problem: &dyn Problem<T::Stored>,
    ) -> Result<Self, EngineError> {
        let output_len = problem.output_len();
        let output_bytes = output_len * size_of::<T::Stored>();
        let input = |values: &Vec<T::Stored>| {
            let buffer = Buffer::new(engine, size_of_val(&values[..]))?;
            buffer.upload(values)?;
            Ok::<_, EngineError>((buffer, values.len() as u64))
        };
        let copy = |_| {
            let inputs = problem.inputs().iter().map(input);
            let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
            Ok(Matrices {
                pointers: pointers(&inputs),
                _inputs: inputs,
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

    fn trial(&self, prepared: Prepared) -> Result<Trial<'e>, EngineError> {
        let workspace = prepared.workspace(self.engine)?;
        let maps = self.copies.iter().map(|matrices| {
            let operands = matrices.operands(&workspace, DevicePtr(0));
            prepared.tensor_map_buffer(self.engine, &operands)
        });
        let maps = maps.collect::<Result<_, EngineError>>()?;
        Ok(Trial {
            prepared,
            workspace,
            maps,
            sample: Sample::default(),
        })
    }

    fn enqueue(&self, trial: &Trial<'_>, copy: usize) -> Result<(), EngineError> {
        let operands = self.copies[copy].operands(&trial.workspace, trial.maps[copy].ptr());
        // SAFETY: the buffers hold the operands of the problem that the plan was made for, and live
        // until the device was waited for.
        unsafe { (trial.prepared).enqueue(self.engine, &operands, self.factors) }
    }

    /// Runs once on an output of NaN, and checks it.
    fn check(
        &self,
        trial: &Trial<'_>,
        problem: &dyn Problem<T::Stored>,
    ) -> Result<Verdict, EngineError> {
        let mut output = vec![T::Stored::NAN; self.output_len];
        let matrices = &self.copies[0];
        matrices.output.upload(&output)?;
        self.enqueue(trial, 0)?;
        self.engine.synchronize()?;
        matrices.output.download(&mut output)?;
        Ok(problem.check(&output))
    }

    /// The products of a sample.
    fn sample(&self, trial: &Trial<'e>) -> Result<Sample<'e>, EngineError> {
        let alone = self.wall_ms(trial, 1)?;
        if self.engine.kind() == EngineKind::Emulator {
            let (products, graph) = (1, None);
            return Ok(Sample { products, graph });
        }
        let graph = |products| {
            // SAFETY: the graph is a part of the trial, with whose kernels and buffers it is
            // dropped.
            unsafe { (self.engine).graph(&mut || self.enqueue_several(trial, products)) }
        };
        let (graph, products) = sample(self.copies.len(), alone, graph, |graph, products| {
            self.ms(trial, products, graph.as_deref())
        })?;
        Ok(Sample { products, graph })
    }

    /// The time of one product, in milliseconds.
    fn time(&self, trial: &Trial<'_>) -> Result<f64, EngineError> {
        let Sample { products, graph } = &trial.sample;
        self.ms(trial, *products, graph.as_deref())
    }

    /// The time of one of several products, which are a graph where there is one.
    fn ms(
        &self,
        trial: &Trial<'_>,
        products: u32,
        graph: Option<&(dyn LaunchGraph + '_)>,
    ) -> Result<f64, EngineError> {
        let all = match graph {
            Some(graph) => graph.time("a product")?,
            None => self.wall_ms(trial, products)?,
        };
        Ok(all / f64::from(products))
    }

    /// The time of several products, which are started and waited for, in milliseconds.
    fn wall_ms(&self, trial: &Trial<'_>, products: u32) -> Result<f64, EngineError> {
        let start = Instant::now();
        self.enqueue_several(trial, products)?;
        self.engine.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn enqueue_several(&self, trial: &Trial<'_>, products: u32) -> Result<(), EngineError> {
        let mut copies = (0..self.copies.len()).cycle().take(products as usize);
        copies.try_for_each(|copy| self.enqueue(trial, copy))
    }
}

impl Matrices<'_> {
    /// The operands of a plan.
    fn operands(&self, workspace: &Buffer<'_>, maps: DevicePtr) -> Operands<'_> {
        Operands {
            inputs: &self.pointers,
            output: self.output.ptr(),
            workspace: workspace.ptr(),
            maps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::engine::emulator::EmulatorEngine;
    use warpladder::gemm::HOPPER;

    #[test]
    fn what_the_library_does_without_tuning_is_timed_as_well() {
        let device = DeviceLimits::new(132, HOPPER);
        // By `wgmma` as the planner chooses; by `mma.sync` of operands as they lie.
        for (extents, is_chosen) in [([512, 768, 1024], true), ([17, 5295, 4287], false)] {
            let product = Description::<bf16>::dense(extents, [false; 2]);
            let untuned = gemm::plan(&product, device, &Choices::default()).unwrap();
            let plans = plans(&product, device).unwrap();
            let of_untuned = plans.iter().filter(|(plan, _)| *plan == untuned);
            let chosen: Vec<bool> = of_untuned.map(|(_, choice)| choice.is_some()).collect();
            assert_eq!(chosen, [is_chosen], "{extents:?}");
        }
    }

    #[test]
    fn candidates_of_every_element_are_right() {
        fn check<T: Tunable>(transposed: [bool; 2]) {
            let engine = EmulatorEngine::new();
            let shape = Shape {
                m: 33,
                n: 17,
                k: 40,
            };
            let all = candidates::<T>(&engine, shape, transposed, 1, 7).unwrap();
            assert!(all.len() > 1, "{}", T::NAME);
            for candidate in &all {
                assert!(candidate.verdict.ok, "{} {candidate:?}", T::NAME);
                let tuned = tuned::<T>(&engine, shape, transposed, candidate);
                assert_eq!(tuned.is_some(), candidate.choice.is_some());
            }
        }
        check::<f32>([false, true]);
        check::<f64>([true, false]);
        check::<bf16>([false, true]);
        check::<f16>([true, true]);
        check::<Tf32>([false; 2]);
    }
}

//! Runs rungs of the catalogue: check first, then time, then one record each.

use crate::catalogue::Rung;
use crate::check::{Method, Verdict};
use crate::element::{Element, ElementType};
use crate::engine::{Arg, Buffer, Dim3, Engine, EngineError, EngineKind, KernelId, Launch};
use crate::measure::Summary;
use crate::problem::{Operation, Param, Problem, Shape};
use crate::{catalogue, memory, ptx};
use std::collections::HashMap;
use std::time::Instant;

/// Launches on a GPU before the first sample, so that clocks and caches have settled. The emulator needs none
/// beside the run that is checked.
const GPU_WARM_UP: usize = 3;

/// Host-to-host runs, of which the median is reported; source 004 takes the middle of three as well.
const HOST_TO_HOST_RUNS: usize = 3;

/// What one rung did on one engine: the record of `--json` and `--csv`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Record {
    /// Name of the rung.
    pub kernel: &'static str,
    /// Its family.
    pub family: catalogue::Family,
    /// The source documents that it is from, by number.
    pub source: &'static str,
    /// Element type.
    pub element: ElementType,
    /// Rows of a product's output, or of a transpose's input.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over; null elsewhere.
    pub k: Option<u32>,
    /// Engine that ran it.
    pub engine: EngineKind,
    /// The device's name.
    pub device: String,
    /// Whether the output was right.
    pub ok: bool,
    /// How the output was checked; null where the kernel failed before it had one.
    pub check: Option<Method>,
    /// Largest absolute difference from the reference; null where an element is NaN or there is no output.
    pub error: Option<f64>,
    /// Largest difference that passes.
    pub tolerance: Option<f64>,
    /// Number of timed runs.
    pub samples: usize,
    /// Median time of the kernel alone, in milliseconds.
    pub median_ms: Option<f64>,
    /// Fastest run, in milliseconds.
    pub min_ms: Option<f64>,
    /// Slowest run, in milliseconds.
    pub max_ms: Option<f64>,
    /// Standard deviation in percent of the mean.
    pub noise_pct: Option<f64>,
    /// 10⁹ floating-point operations per second at the median; null where there are none.
    pub gflops: Option<f64>,
    /// Effective bandwidth at the median: 10⁹ bytes per second, every input read once, the output written once.
    pub gbs: Option<f64>,
    /// Inputs to the device, kernel, output back: wall-clock time in milliseconds, median of 3 runs.
    pub host_to_host_ms: Option<f64>,
    /// What was wrong, as one line; null where nothing was.
    pub complaint: Option<String>,
}

/// Why a rung was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The rung does not take this size.
    #[error("{rung} takes {needs}, not {shape}: {advice}")]
    Shape {
        /// Name of the rung.
        rung: &'static str,
        /// What it takes.
        needs: String,
        /// The size that was asked for.
        shape: String,
        /// Which rung or which size would do.
        advice: String,
    },
    /// The problem does not fit.
    #[error("{rung} at {shape} needs {needed} bytes of {whose} memory, {free} are free: use a smaller size")]
    Memory {
        /// Name of the rung.
        rung: &'static str,
        /// The size that was asked for.
        shape: String,
        /// Bytes needed.
        needed: u128,
        /// "device" or "host".
        whose: &'static str,
        /// Bytes free.
        free: u64,
    },
    /// The device is too old.
    #[error("{rung} needs compute capability {needs}, {device} has {has}: run it on the emulator")]
    Capability {
        /// Name of the rung.
        rung: &'static str,
        /// Compute capability needed, times ten.
        needs: u32,
        /// The device's name.
        device: String,
        /// Compute capability there is, times ten.
        has: u32,
    },
    /// The engine failed outside of the kernel.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The problems of one run, each made when the first rung asks for it.
pub struct Problems {
    shape: Shape,
    seed: u64,
    f32: HashMap<Operation, Box<dyn Problem<f32>>>,
    f64: HashMap<Operation, Box<dyn Problem<f64>>>,
}

impl Problems {
    /// Problems of this shape, with inputs drawn by `seed`.
    pub fn new(shape: Shape, seed: u64) -> Self {
        Problems {
            shape,
            seed,
            f32: HashMap::new(),
            f64: HashMap::new(),
        }
    }

    /// Runs one rung: checks it, then times it `reps` times, at least once.
    ///
    /// # Errors
    /// Where the rung cannot run at all: see [`RunError`]. A kernel that fails or gives a wrong output is no
    /// error but a record that is not ok.
    pub fn run(&mut self, engine: &dyn Engine, rung: &Rung, reps: usize) -> Result<Record, RunError> {
        let Problems { shape, seed, .. } = *self;
        preflight(engine, rung, shape)?;
        let operation = rung.operation;
        match rung.element {
            ElementType::F32 => {
                let make = || operation.problem(shape, seed);
                let problem = self.f32.entry(operation).or_insert_with(make);
                run_checked(engine, rung, shape, &**problem, reps)
            }
            ElementType::F64 => {
                let make = || operation.problem(shape, seed);
                let problem = self.f64.entry(operation).or_insert_with(make);
                run_checked(engine, rung, shape, &**problem, reps)
            }
        }
    }
}

/// Refuses, before anything is allocated, what cannot work.
pub fn preflight(engine: &dyn Engine, rung: &Rung, shape: Shape) -> Result<(), RunError> {
    check_shape(rung, shape)?;
    if rung.compute_capability > engine.compute_capability() {
        return Err(RunError::Capability {
            rung: rung.name,
            needs: rung.compute_capability,
            device: engine.device_name().to_owned(),
            has: engine.compute_capability(),
        });
    }
    let (inputs, output) = rung.operation.elements(shape);
    let size = u128::from(rung.element.bytes());
    // On the host: inputs and output, the inputs and the reference once more in f64, and the emulator's
    // device memory where that is the engine.
    let on_device = (inputs + output) * size;
    let on_host = on_device + (inputs + 2 * output) * 8;
    let limits = [
        ("device", on_device, Some(engine.free_memory()?)),
        ("host", on_host, memory::available()),
    ];
    for (whose, needed, free) in limits {
        if let Some(free) = free.filter(|&free| needed > u128::from(free)) {
            return Err(RunError::Memory {
                rung: rung.name,
                shape: describe(rung.operation, shape),
                needed,
                whose,
                free,
            });
        }
    }
    Ok(())
}

/// Refuses a size that the rung does not take.
pub fn check_shape(rung: &Rung, shape: Shape) -> Result<(), RunError> {
    let Shape { m, n, k } = shape;
    let multiples = rung.multiples;
    let fits = m.is_multiple_of(multiples.m)
        && n.is_multiple_of(multiples.n)
        && (!rung.operation.uses_k() || k.is_multiple_of(multiples.k));
    let [grid_x, grid_y, _] = rung.geometry.grid(m, n);
    // CUDA's limits of a grid: 2³¹ - 1 blocks in x, 65,535 in y.
    let launches = grid_x <= i32::MAX as u32 && grid_y <= u32::from(u16::MAX);
    if fits && launches {
        return Ok(());
    }
    let alternative = catalogue::RUNGS.iter().rev().find(|other| {
        other.operation == rung.operation
            && other.element == rung.element
            && other.multiples == catalogue::Multiples::ANY
            && launches
    });
    let advice = match alternative {
        Some(other) => format!("use {}, which takes any size", other.name),
        None => "use such a size".to_owned(),
    };
    let needs = if launches {
        describe_multiples(rung)
    } else {
        "a grid of at most 65,535 blocks in y".to_owned()
    };
    Err(RunError::Shape {
        rung: rung.name,
        needs,
        shape: describe(rung.operation, shape),
        advice,
    })
}

/// The sizes that a rung takes, in words.
pub fn describe_multiples(rung: &Rung) -> String {
    let catalogue::Multiples { m, n, k } = rung.multiples;
    if rung.multiples == catalogue::Multiples::ANY {
        "any size".to_owned()
    } else if rung.operation.uses_k() {
        if m == n && n == k {
            format!("multiples of {m}")
        } else {
            format!("multiples of {m} (m), {n} (n) and {k} (k)")
        }
    } else if m == n {
        format!("multiples of {m}")
    } else {
        format!("multiples of {m} (m) and {n} (n)")
    }
}

/// A size in words: `m x n x k` or `m x n`.
pub fn describe(operation: Operation, Shape { m, n, k }: Shape) -> String {
    if operation.uses_k() {
        format!("{m} x {n} x {k}")
    } else {
        format!("{m} x {n}")
    }
}

fn run_checked<T: Element>(
    engine: &dyn Engine,
    rung: &Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
    reps: usize,
) -> Result<Record, RunError> {
    let mut record = Record {
        kernel: rung.name,
        family: rung.family,
        source: rung.source,
        element: rung.element,
        m: shape.m,
        n: shape.n,
        k: rung.operation.uses_k().then_some(shape.k),
        engine: engine.kind(),
        device: engine.device_name().to_owned(),
        ok: false,
        check: None,
        error: None,
        tolerance: None,
        samples: 0,
        median_ms: None,
        min_ms: None,
        max_ms: None,
        noise_pct: None,
        gflops: None,
        gbs: None,
        host_to_host_ms: None,
        complaint: None,
    };
    let outcome = Case::new(engine, rung, shape, problem).and_then(|case| {
        let (_, verdict) = case.checked_output(problem)?;
        let times = if case.is_empty() {
            None
        } else {
            Some(case.times(problem, reps)?)
        };
        Ok((verdict, times))
    });
    match outcome {
        Ok((verdict, times)) => fill(&mut record, rung, shape, verdict, times),
        // A kernel that fails is a failed check, not a reason to leave the others out.
        Err(error @ EngineError::Launch { .. }) => record.complaint = Some(error.to_string()),
        Err(error) => return Err(error.into()),
    }
    Ok(record)
}

fn fill(record: &mut Record, rung: &Rung, shape: Shape, verdict: Verdict, times: Option<Times>) {
    record.ok = verdict.ok;
    record.check = Some(verdict.method);
    record.error = Some(verdict.error).filter(|error| error.is_finite());
    record.tolerance = Some(verdict.tolerance);
    record.complaint = verdict.complaint;
    let Some(Times {
        kernel,
        host_to_host_ms,
    }) = times
    else {
        return;
    };
    let per_second = |count: f64| count / (kernel.median * 1e-3) * 1e-9;
    let flops = rung.operation.flops(shape);
    let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
    record.samples = kernel.samples;
    record.median_ms = Some(kernel.median);
    record.min_ms = Some(kernel.min);
    record.max_ms = Some(kernel.max);
    record.noise_pct = Some(kernel.noise_pct);
    record.gflops = (flops > 0.0).then(|| per_second(flops));
    record.gbs = Some(per_second(bytes));
    record.host_to_host_ms = Some(host_to_host_ms);
}

struct Times {
    kernel: Summary,
    host_to_host_ms: f64,
}

/// The output of a rung and what the check says of it; for tests that compare engines.
///
/// # Errors
/// See [`Problems::run`]; a kernel that fails is an error here.
pub fn output<T: Element>(
    engine: &dyn Engine,
    rung: &Rung,
    shape: Shape,
    problem: &dyn Problem<T>,
) -> Result<(Vec<T>, Verdict), RunError> {
    preflight(engine, rung, shape)?;
    Ok(Case::new(engine, rung, shape, problem)?.checked_output(problem)?)
}

/// One rung with its buffers on a device.
struct Case<'e> {
    engine: &'e dyn Engine,
    kernel: KernelId,
    grid: Dim3,
    block: Dim3,
    inputs: Vec<Buffer<'e>>,
    output: Buffer<'e>,
    output_len: usize,
    params: Vec<Param>,
    input_lens: Vec<usize>,
}

impl<'e> Case<'e> {
    fn new<T: Element>(
        engine: &'e dyn Engine,
        rung: &Rung,
        shape: Shape,
        problem: &dyn Problem<T>,
    ) -> Result<Self, EngineError> {
        let kernel = engine.load(ptx::module(rung.compute_capability).text, rung.name)?;
        let inputs = problem
            .inputs()
            .iter()
            .map(|input| Buffer::new(engine, size_of_val(&input[..])))
            .collect::<Result<_, _>>()?;
        let output_len = problem.output_len();
        let [x, y, z] = rung.geometry.block;
        let [grid_x, grid_y, grid_z] = rung.geometry.grid(shape.m, shape.n);
        Ok(Case {
            engine,
            kernel,
            grid: Dim3::new(grid_x, grid_y, grid_z),
            block: Dim3::new(x, y, z),
            inputs,
            output: Buffer::new(engine, output_len * size_of::<T>())?,
            output_len,
            params: problem.params(),
            input_lens: problem.inputs().iter().map(Vec::len).collect(),
        })
    }

    /// Whether there is nothing to compute, and so nothing to launch: a grid of no blocks is refused.
    fn is_empty(&self) -> bool {
        self.output_len == 0
    }

    fn with_launch<R>(&self, run: impl FnOnce(&Launch<'_>) -> R) -> R {
        let mut args = Vec::new();
        for param in &self.params {
            match *param {
                Param::Input(index) => {
                    args.push(Arg::Ptr(self.inputs[index].ptr()));
                    args.push(Arg::U64(self.input_lens[index] as u64));
                }
                Param::Output => args.push(Arg::Ptr(self.output.ptr())),
                Param::U32(value) => args.push(Arg::U32(value)),
            }
        }
        run(&Launch {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            shared_bytes: 0,
            args: &args,
        })
    }

    fn upload<T: Element>(&self, problem: &dyn Problem<T>) -> Result<(), EngineError> {
        for (buffer, input) in self.inputs.iter().zip(problem.inputs()) {
            buffer.upload(input)?;
        }
        Ok(())
    }

    /// Fills the output with NaN, runs once and checks.
    fn checked_output<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<(Vec<T>, Verdict), EngineError> {
        let mut output = vec![T::NAN; self.output_len];
        if !self.is_empty() {
            self.upload(problem)?;
            self.output.upload(&output)?;
            self.with_launch(|launch| self.engine.run(launch))?;
            self.output.download(&mut output)?;
        }
        let verdict = problem.check(&output);
        Ok((output, verdict))
    }

    fn times<T: Element>(
        &self,
        problem: &dyn Problem<T>,
        reps: usize,
    ) -> Result<Times, EngineError> {
        let warm_up = match self.engine.kind() {
            EngineKind::Gpu => GPU_WARM_UP,
            EngineKind::Emulator => 0,
        };
        let kernel = self.with_launch(|launch| {
            for _ in 0..warm_up {
                self.engine.run(launch)?;
            }
            (0..reps.max(1))
                .map(|_| self.engine.time(launch))
                .collect::<Result<Vec<_>, _>>()
        })?;
        let mut output = vec![T::NAN; self.output_len];
        let host_to_host = (0..HOST_TO_HOST_RUNS.min(reps.max(1)))
            .map(|_| {
                let start = Instant::now();
                self.upload(problem)?;
                self.with_launch(|launch| self.engine.run(launch))?;
                self.output.download(&mut output)?;
                Ok(start.elapsed().as_secs_f64() * 1e3)
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        let summary = |times: &[f64]| Summary::of(times).expect("at least one repetition");
        Ok(Times {
            kernel: summary(&kernel),
            host_to_host_ms: summary(&host_to_host).median,
        })
    }
}

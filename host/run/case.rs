//! One rung with its buffers on a device.

use super::preflight::{RunError, grid};
use super::{Shape, Times};
use crate::catalogue::{Implementation, Rung};
use crate::check::Verdict;
use crate::element::Element;
use crate::engine::{
    Arg, Buffer, DevicePtr, Dim3, Engine, EngineError, EngineKind, KernelId, Launch,
};
use crate::measure::Summary;
use crate::problem::{Operation, Param, Problem};
use crate::ptx;
use std::time::Instant;

/// Launches on a GPU before the first sample, so that clocks and caches have settled. The emulator needs none
/// beside the run that is checked.
const GPU_WARM_UP: usize = 3;

/// Host-to-host runs, of which the median is reported; source 004 takes the middle of three as well.
const HOST_TO_HOST_RUNS: usize = 3;

/// Repetitions inside of a kernel for its inner time.
const INNER_REPETITIONS: u32 = 10;

/// A rung on a device, with its memory.
pub(crate) struct Case<'e> {
    engine: &'e dyn Engine,
    kernel: KernelId,
    grid: Dim3,
    block: Dim3,
    inputs: Vec<Buffer<'e>>,
    input_lens: Vec<usize>,
    output: Buffer<'e>,
    output_len: usize,
    params: Vec<Param>,
    /// Which parameter says how often the kernel repeats its work.
    repetitions: Option<usize>,
}

impl<'e> Case<'e> {
    /// Loads the kernel and allocates its memory.
    pub(crate) fn new<T: Element>(
        engine: &'e dyn Engine,
        rung: &Rung,
        shape: Shape,
        problem: &dyn Problem<T>,
    ) -> Result<Self, RunError> {
        let Implementation::Kernel {
            geometry,
            compute_capability,
        } = rung.implementation
        else {
            unreachable!("{} is no kernel", rung.name);
        };
        let kernel = engine.load(&ptx::module(compute_capability).only(rung.name), rung.name)?;
        let inputs = problem
            .inputs()
            .iter()
            .map(|input| Buffer::new(engine, size_of_val(&input[..])))
            .collect::<Result<_, _>>()?;
        let output_len = problem.output_len();
        let [x, y, z] = geometry.block();
        let params = problem.params();
        let repeats = matches!(rung.operation, Operation::Copy | Operation::Transpose);
        Ok(Case {
            engine,
            kernel,
            grid: grid(engine, rung, shape)?,
            block: Dim3::new(x, y, z),
            inputs,
            input_lens: problem.inputs().iter().map(Vec::len).collect(),
            output: Buffer::new(engine, output_len * size_of::<T>())?,
            output_len,
            repetitions: repeats.then(|| params.len() - 1),
            params,
        })
    }

    /// The device address of an input.
    pub(crate) fn input(&self, index: usize) -> DevicePtr {
        self.inputs[index].ptr()
    }

    /// Calls `run` with the launch.
    pub(crate) fn launch<R>(&self, run: impl FnOnce(&Launch<'_>) -> R) -> R {
        self.with_launch(&self.params, run)
    }

    /// Whether there is nothing to compute, and so nothing to launch: a grid of no blocks is refused.
    pub(crate) fn is_empty(&self) -> bool {
        self.grid.count() == 0
    }

    /// Fills the output with NaN, runs once and checks.
    pub(crate) fn checked_output<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<(Vec<T>, Verdict), EngineError> {
        let mut output = vec![T::NAN; self.output_len];
        if !self.is_empty() {
            self.upload(problem)?;
            self.output.upload(&output)?;
            self.launch(|launch| self.engine.run(launch))?;
            self.output.download(&mut output)?;
        }
        let verdict = problem.check(&output);
        Ok((output, verdict))
    }

    /// Runs once on the inputs and an output that nothing was written to.
    pub(crate) fn run_on_fresh_output<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<(), EngineError> {
        if self.is_empty() {
            return Ok(());
        }
        self.upload(problem)?;
        self.launch(|launch| self.engine.run(launch))
    }

    /// Times the kernel alone, then with the transfers, and in a row and repeating itself as source 003 does.
    pub(crate) fn times<T: Element>(
        &self,
        problem: &dyn Problem<T>,
        reps: usize,
    ) -> Result<Times, EngineError> {
        let warm_up = match self.engine.kind() {
            EngineKind::Gpu => GPU_WARM_UP,
            EngineKind::Cpu | EngineKind::Emulator => 0,
        };
        let (kernel, outer_ms) = self.launch(|launch| {
            for _ in 0..warm_up {
                self.engine.run(launch)?;
            }
            let samples = (0..reps)
                .map(|_| self.engine.time(launch, 1))
                .collect::<Result<Vec<_>, _>>()?;
            let outer = if self.repetitions.is_some() {
                Some(self.engine.time(launch, reps as u32)? / reps as f64)
            } else {
                None
            };
            Ok::<_, EngineError>((samples, outer))
        })?;
        let inner_ms = self
            .repetitions
            .map(|index| self.inner_time(index))
            .transpose()?;
        let mut output = vec![T::NAN; self.output_len];
        let host_to_host = (0..HOST_TO_HOST_RUNS.min(reps))
            .map(|_| {
                let start = Instant::now();
                self.upload(problem)?;
                self.launch(|launch| self.engine.run(launch))?;
                self.output.download(&mut output)?;
                Ok(start.elapsed().as_secs_f64() * 1e3)
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        Ok(Times {
            kernel: Summary::of(&kernel).expect("at least one repetition"),
            host_to_host_ms: Summary::of(&host_to_host).map(|summary| summary.median),
            outer_ms,
            inner_ms,
        })
    }

    fn inner_time(&self, index: usize) -> Result<f64, EngineError> {
        let mut params = self.params.clone();
        params[index] = Param::U32(INNER_REPETITIONS);
        let total = self.with_launch(&params, |launch| self.engine.time(launch, 1))?;
        Ok(total / f64::from(INNER_REPETITIONS))
    }

    /// Copies the inputs to the device.
    pub(crate) fn upload<T: Element>(&self, problem: &dyn Problem<T>) -> Result<(), EngineError> {
        for (buffer, input) in self.inputs.iter().zip(problem.inputs()) {
            buffer.upload(input)?;
        }
        Ok(())
    }

    fn with_launch<R>(&self, params: &[Param], run: impl FnOnce(&Launch<'_>) -> R) -> R {
        let mut args = Vec::new();
        for param in params {
            match param {
                Param::Input(index) => {
                    args.push(Arg::Ptr(self.inputs[*index].ptr()));
                    args.push(Arg::U64(self.input_lens[*index] as u64));
                }
                Param::Output => args.push(Arg::Ptr(self.output.ptr())),
                Param::U32(value) => args.push(Arg::U32(*value)),
                Param::F32(value) => args.push(Arg::F32(*value)),
                Param::Bytes(bytes) => args.push(Arg::Bytes(bytes)),
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
}

//! One rung with its kernels and buffers on a device.

use super::preflight::{Admitted, RunError};
use super::{Sampling, Times};
use crate::problem::{Operation, Problem};
use std::sync::Arc;
use std::time::Instant;
use warpladder::check::Verdict;
use warpladder::element::Element;
use warpladder::engine::{Buffer, Engine, EngineKind};
use warpladder::error::EngineError;
use warpladder::launch::{DevicePtr, Dim3, Launch, Param};
use warpladder::plan::{Operands, Plan, Prepared};
use warpladder::timing::median;

/// Host-to-host runs, of which the median is reported; source 004 takes the middle of three as
/// well.
const HOST_TO_HOST_RUNS: usize = 3;

/// Most launches in a row for the outer time.
const MAX_IN_A_ROW: usize = 100;

/// Repetitions inside of a kernel for its inner time.
const INNER_REPETITIONS: u32 = 10;

/// Each byte of a NaN in all element types.
#[cfg(all(target_os = "linux", feature = "gpu"))]
pub(crate) const NAN_BYTE: u8 = 0xff;

/// An admitted rung on a device: its kernels are loaded, and its memory is allocated.
pub struct LoadedRung<'e> {
    engine: &'e dyn Engine,
    loaded: Loaded,
    /// Each with its number of elements.
    inputs: Vec<(Buffer<'e>, u64)>,
    output: Buffer<'e>,
    output_len: usize,
    /// See [`Problem::padded_columns`].
    padded_columns: Option<(usize, usize)>,
    workspace: Buffer<'e>,
    /// The tensor maps of the launches.
    maps: Buffer<'e>,
}

/// What does not depend on where the data lies.
#[derive(Clone)]
struct Loaded {
    prepared: Arc<Prepared>,
    /// Whether the rung is one of a family of which source 003 takes the outer and the inner time.
    is_timed_in_a_row: bool,
    /// The launch that does the rung's work [`INNER_REPETITIONS`] times.
    repeated: Option<Plan>,
}

impl<'e> LoadedRung<'e> {
    /// Loads the kernels of an admitted rung for its problem, and allocates its memory.
    ///
    /// # Errors
    /// [`RunError::NotAKernel`], [`RunError::Problem`] where the problem is another one, and those
    /// of the engine.
    pub fn new<T: Element>(
        engine: &'e dyn Engine,
        admitted: &Admitted,
        problem: &dyn Problem<T>,
    ) -> Result<Self, RunError> {
        let plan = admitted.plan_for(problem)?;
        let rung = admitted.runs();
        let repeated = rung.repeated().map(|kernel| {
            let mut plan = plan.clone();
            for launch in &mut plan.launches {
                launch.entry = kernel.name;
                launch.params.push(Param::U32(INNER_REPETITIONS));
            }
            plan
        });
        let is_timed_in_a_row = matches!(rung.operation, Operation::Copy | Operation::Transpose);
        let loaded = Loaded {
            prepared: Arc::new(Prepared::new(engine, plan)?),
            is_timed_in_a_row,
            repeated,
        };
        Ok(Self::allocate(engine, loaded, problem)?)
    }

    /// The same rung with memory of its own, which holds nothing yet.
    ///
    /// # Errors
    /// Those of the engine.
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    pub(crate) fn another<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<Self, EngineError> {
        Self::allocate(self.engine, self.loaded.clone(), problem)
    }

    fn allocate<T: Element>(
        engine: &'e dyn Engine,
        loaded: Loaded,
        problem: &dyn Problem<T>,
    ) -> Result<Self, EngineError> {
        let prepared = &loaded.prepared;
        let inputs: Vec<(Buffer<'e>, u64)> = problem
            .inputs()
            .iter()
            .map(|input| {
                let buffer = Buffer::new(engine, size_of_val(&input[..]))?;
                Ok((buffer, input.len() as u64))
            })
            .collect::<Result<_, EngineError>>()?;
        let output_len = problem.output_len();
        let output = Buffer::new(engine, output_len * size_of::<T>())?;
        let workspace = prepared.workspace(engine)?;
        let maps = prepared.tensor_map_buffer(
            engine,
            &Operands {
                inputs: &pointers(&inputs),
                output: output.ptr(),
                workspace: workspace.ptr(),
                maps: DevicePtr(0),
            },
        )?;
        Ok(LoadedRung {
            engine,
            loaded,
            inputs,
            output,
            output_len,
            padded_columns: problem.padded_columns(),
            workspace,
            maps,
        })
    }

    /// The device address of an input.
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    pub(crate) fn input(&self, index: usize) -> DevicePtr {
        self.inputs[index].0.ptr()
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.loaded.prepared.is_empty()
    }

    /// Fills the output with NaN, runs once and checks.
    ///
    /// # Errors
    /// Those of the launches.
    pub fn checked_output<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<(Vec<T>, Verdict), EngineError> {
        let mut output = vec![T::NAN; self.output_len];
        if !self.is_empty() {
            self.upload(problem)?;
            self.output.upload(&output)?;
            self.run()?;
            self.output.download(&mut output)?;
        }
        let verdict = problem.check(&output);
        Ok((output, verdict))
    }

    /// As [`checked_output`](Self::checked_output), on the inputs that the device holds already;
    /// NaN is written there as well.
    #[cfg(all(target_os = "linux", feature = "gpu"))]
    pub(crate) fn checked<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<Verdict, EngineError> {
        let mut output = vec![T::zeroed(); self.output_len];
        if self.is_empty() {
            output.fill(T::NAN);
        } else {
            self.engine
                .fill(self.output.ptr(), size_of_val(&output[..]), NAN_BYTE)?;
            self.run()?;
            self.output.download(&mut output)?;
        }
        Ok(problem.check(&output))
    }

    /// Runs once on the inputs and an output that nothing was written to, and reads all of it but
    /// padding.
    pub(super) fn run_on_fresh_output<T: Element>(
        &self,
        problem: &dyn Problem<T>,
    ) -> Result<(), EngineError> {
        if self.is_empty() {
            return Ok(());
        }
        self.upload(problem)?;
        self.run()?;
        let (column, pitch) = self
            .padded_columns
            .unwrap_or((self.output_len, self.output_len));
        let mut bytes = vec![0; column * size_of::<T>()];
        for start in (0..self.output_len).step_by(pitch) {
            let address = self.output.ptr().0 + (start * size_of::<T>()) as u64;
            self.engine.download(&mut bytes, DevicePtr(address))?;
        }
        Ok(())
    }

    /// Times the kernel alone, then with the transfers, and in a row and repeating itself as source
    /// 003 does.
    pub(super) fn times<T: Element>(
        &self,
        problem: &dyn Problem<T>,
        sampling: &Sampling,
    ) -> Result<Times, EngineError> {
        // SAFETY: the launches are planned for this problem, and the buffers hold its inputs and
        // its output.
        let (kernel, stop) =
            self.launches(|launches| unsafe { sampling.time(self.engine, launches) })?;
        let reps = kernel.len().min(MAX_IN_A_ROW);
        // What the emulator takes besides is no time of anything.
        let is_device = self.engine.kind() == EngineKind::Gpu;
        let outer_ms = match self.loaded.is_timed_in_a_row && is_device {
            true => Some(self.time(reps as u32)? / reps as f64),
            false => None,
        };
        let mut output = vec![T::NAN; self.output_len];
        let (inner_ms, repeated) = match &self.loaded.repeated {
            Some(plan) => {
                self.output.upload(&output)?;
                let inner_ms = self.inner_time(plan.clone())?;
                self.output.download(&mut output)?;
                (Some(inner_ms), Some(problem.check(&output)))
            }
            None => (None, None),
        };
        let host_to_host_runs = match is_device {
            true => HOST_TO_HOST_RUNS.min(reps),
            false => 0,
        };
        let host_to_host = (0..host_to_host_runs)
            .map(|_| {
                let start = Instant::now();
                self.upload(problem)?;
                self.run()?;
                self.output.download(&mut output)?;
                Ok(start.elapsed().as_secs_f64() * 1e3)
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        Ok(Times {
            kernel,
            stop,
            cache: self.engine.cache_bytes().map(|_| sampling.cache),
            host_to_host_ms: median(&host_to_host),
            outer_ms,
            inner_ms,
            repeated,
        })
    }

    /// Runs a rung of one kernel with other blocks than its geometry's: checks the output, then
    /// times it, in milliseconds.
    ///
    /// # Errors
    /// Those of the launches, and of a rung of several kernels.
    pub fn checked_and_timed_as<T: Element>(
        &self,
        problem: &dyn Problem<T>,
        [grid, block]: [Dim3; 2],
        samples: usize,
    ) -> Result<(Verdict, Vec<f64>), EngineError> {
        let mut output = vec![T::NAN; self.output_len];
        self.upload(problem)?;
        self.output.upload(&output)?;
        self.launches(|launches| {
            let [launch] = launches else {
                return Err(EngineError::Unavailable(
                    "only single kernels are launched with other blocks: choose another".to_owned(),
                ));
            };
            let launch = [Launch {
                grid,
                block,
                ..*launch
            }];
            // SAFETY: a kernel of the catalogue suits any grid: what it leaves out is not written.
            unsafe { self.engine.run(&launch[0]) }?;
            self.output.download(&mut output)?;
            // SAFETY: the launch is the one that has just run.
            let times = (0..samples).map(|_| unsafe { self.engine.time(&launch, 1) });
            Ok((problem.check(&output), times.collect::<Result<_, _>>()?))
        })
    }

    /// The time of one repetition inside of a kernel, in milliseconds.
    fn inner_time(&self, repeated: Plan) -> Result<f64, EngineError> {
        let repeated = Prepared::new(self.engine, repeated)?;
        // SAFETY: the launches are planned for this problem, and the buffers hold its inputs and
        // its output.
        let total = self.start(&repeated, |launches| unsafe {
            self.engine.time(launches, 1)
        })?;
        Ok(total / f64::from(INNER_REPETITIONS))
    }

    /// Copies the inputs to the device.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn upload<T: Element>(&self, problem: &dyn Problem<T>) -> Result<(), EngineError> {
        for ((buffer, _), input) in self.inputs.iter().zip(problem.inputs()) {
            buffer.upload(input)?;
        }
        Ok(())
    }

    /// Runs once.
    fn run(&self) -> Result<(), EngineError> {
        self.launches(|launches| {
            launches
                .iter()
                // SAFETY: the launches are planned for this problem, and the buffers hold its
                // inputs and its output.
                .try_for_each(|launch| unsafe { self.engine.run(launch) })
        })
    }

    /// Runs `rounds` times and returns how long that took, in milliseconds: see [`Engine::time`].
    ///
    /// # Errors
    /// Those of the launches.
    pub fn time(&self, rounds: u32) -> Result<f64, EngineError> {
        // SAFETY: the launches are planned for this problem, and the buffers hold its inputs and
        // its output.
        self.launches(|launches| unsafe { self.engine.time(launches, rounds) })
    }

    /// Calls `run` with the launches.
    pub(crate) fn launches<R>(&self, run: impl FnOnce(&[Launch<'_>]) -> R) -> R {
        self.start(&self.loaded.prepared, run)
    }

    fn start<R>(&self, prepared: &Prepared, run: impl FnOnce(&[Launch<'_>]) -> R) -> R {
        let operands = Operands {
            inputs: &pointers(&self.inputs),
            output: self.output.ptr(),
            workspace: self.workspace.ptr(),
            maps: self.maps.ptr(),
        };
        prepared.launches(&operands, run)
    }
}

/// The addresses of inputs, each with its number of elements.
pub(crate) fn pointers(inputs: &[(Buffer<'_>, u64)]) -> Vec<(DevicePtr, u64)> {
    inputs
        .iter()
        .map(|(buffer, len)| (buffer.ptr(), *len))
        .collect()
}

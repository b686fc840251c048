//! One rung with its buffers on a device.

use super::preflight::{RunError, plan, preflight};
use super::{Shape, Times};
use crate::catalogue::Rung;
use crate::check::Verdict;
use crate::element::Element;
use crate::engine::{
    Arg, Buffer, DevicePtr, Dim3, Engine, EngineError, EngineKind, KernelId, Launch, MatrixMap,
};
use crate::measure::Summary;
use crate::plan::{Plan, PlannedLaunch};
use crate::problem::{Operation, Param, Place, Problem};
use crate::ptx;
use std::time::Instant;

/// Launches on a GPU before the first sample, so that clocks and caches have settled. The emulator needs none
/// beside the run that is checked.
const GPU_WARM_UP: usize = 3;

/// Host-to-host runs, of which the median is reported; source 004 takes the middle of three as well.
const HOST_TO_HOST_RUNS: usize = 3;

/// Repetitions inside of a kernel for its inner time.
const INNER_REPETITIONS: u32 = 10;

/// A rung on a device: its launches, with their memory.
pub struct Case<'e> {
    engine: &'e dyn Engine,
    launches: Vec<Prepared>,
    inputs: Vec<Buffer<'e>>,
    input_lens: Vec<usize>,
    output: Buffer<'e>,
    output_len: usize,
    /// See [`Problem::padded_columns`].
    padded_columns: Option<(usize, usize)>,
    workspace: Buffer<'e>,
    /// The tensor maps of each launch that has any.
    maps: Vec<Option<Buffer<'e>>>,
    /// Which parameter of the only launch says how often the kernel repeats its work.
    repetitions: Option<usize>,
}

/// A launch whose kernel is loaded.
struct Prepared {
    kernel: KernelId,
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    params: Vec<Param>,
}

impl<'e> Case<'e> {
    /// Loads the kernels and allocates the memory of a rung, or of the one that it chooses for this shape.
    ///
    /// # Errors
    /// See [`RunError`]: what `preflight` refuses, and what the engine does.
    pub fn new<T: Element>(
        engine: &'e dyn Engine,
        rung: &'static Rung,
        shape: Shape,
        problem: &dyn Problem<T>,
    ) -> Result<Self, RunError> {
        preflight(engine, rung, shape)?;
        let rung = rung.resolve(shape);
        let params = problem.params();
        let repeats = matches!(rung.operation, Operation::Copy | Operation::Transpose);
        let repetitions = repeats.then(|| params.len() - 1);
        let plan = plan(engine, rung, shape, params)?;
        Ok(Case {
            repetitions,
            ..Self::of_plan(engine, plan, problem)?
        })
    }

    /// Loads the kernels of a plan for this problem, and allocates its memory.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn of_plan<T: Element>(
        engine: &'e dyn Engine,
        plan: Plan,
        problem: &dyn Problem<T>,
    ) -> Result<Self, RunError> {
        // Nothing to compute is nothing to launch: a grid of no blocks is refused.
        let launches = plan
            .launches
            .into_iter()
            .filter(|launch| !launch.grid.contains(&0));
        let prepare = |launch: PlannedLaunch| {
            let module = ptx::module(launch.compute_capability);
            Ok(Prepared {
                kernel: engine.load(&module.only(launch.entry), launch.entry)?,
                // Whoever made the plan has checked the limits.
                grid: Dim3::from(launch.grid.map(|extent| extent as u32)),
                block: launch.block,
                shared_bytes: launch.shared_bytes,
                params: launch.params,
            })
        };
        let inputs = problem
            .inputs()
            .iter()
            .map(|input| Buffer::new(engine, size_of_val(&input[..])))
            .collect::<Result<_, _>>()?;
        let inputs: Vec<Buffer<'e>> = inputs;
        let output_len = problem.output_len();
        let launches: Vec<Prepared> = launches.map(prepare).collect::<Result<_, RunError>>()?;
        let output = Buffer::new(engine, output_len * size_of::<T>())?;
        let workspace = Buffer::new(engine, plan.workspace_bytes as usize)?;
        workspace.upload(&vec![0u8; plan.zeroed_bytes as usize])?;
        let start = |place: Place| match place {
            Place::Input(index) => inputs[index].ptr(),
            Place::Output => output.ptr(),
            Place::Workspace(offset) => DevicePtr(workspace.ptr().0 + offset),
        };
        let maps = launches
            .iter()
            .map(|launch| tensor_maps(engine, &launch.params, start))
            .collect::<Result<_, _>>()?;
        Ok(Case {
            engine,
            launches,
            maps,
            inputs,
            input_lens: problem.inputs().iter().map(Vec::len).collect(),
            output,
            output_len,
            padded_columns: problem.padded_columns(),
            workspace,
            repetitions: None,
        })
    }

    /// The device address of an input.
    pub(crate) fn input(&self, index: usize) -> DevicePtr {
        self.inputs[index].ptr()
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
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

    /// Runs once on the inputs and an output that nothing was written to, and reads all of it but padding.
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

    /// Times the kernel alone, then with the transfers, and in a row and repeating itself as source 003 does.
    pub(super) fn times<T: Element>(
        &self,
        problem: &dyn Problem<T>,
        reps: usize,
    ) -> Result<Times, EngineError> {
        let warm_up = match self.engine.kind() {
            EngineKind::Gpu => GPU_WARM_UP,
            EngineKind::Cpu | EngineKind::Emulator => 0,
        };
        for _ in 0..warm_up {
            self.run()?;
        }
        let kernel = (0..reps)
            .map(|_| self.time(1))
            .collect::<Result<Vec<_>, _>>()?;
        let outer_ms = match self.repetitions {
            Some(_) => Some(self.time(reps as u32)? / reps as f64),
            None => None,
        };
        let inner_ms = self
            .repetitions
            .map(|index| self.inner_time(index))
            .transpose()?;
        let mut output = vec![T::NAN; self.output_len];
        let host_to_host = (0..HOST_TO_HOST_RUNS.min(reps))
            .map(|_| {
                let start = Instant::now();
                self.upload(problem)?;
                self.run()?;
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
        let [launch] = &self.launches[..] else {
            unreachable!("only single kernels repeat themselves");
        };
        let mut params = launch.params.clone();
        params[index] = Param::U32(INNER_REPETITIONS);
        let args = self.args(&params, None);
        let total = self.engine.time(&[launch.with(&args)], 1)?;
        Ok(total / f64::from(INNER_REPETITIONS))
    }

    /// Copies the inputs to the device.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn upload<T: Element>(&self, problem: &dyn Problem<T>) -> Result<(), EngineError> {
        for (buffer, input) in self.inputs.iter().zip(problem.inputs()) {
            buffer.upload(input)?;
        }
        Ok(())
    }

    /// Runs once.
    fn run(&self) -> Result<(), EngineError> {
        self.launches(|launches| {
            launches
                .iter()
                .try_for_each(|launch| self.engine.run(launch))
        })
    }

    /// Runs so many times and returns how long that took, in milliseconds: see [`Engine::time`].
    ///
    /// # Errors
    /// Those of the launches.
    pub fn time(&self, rounds: u32) -> Result<f64, EngineError> {
        self.launches(|launches| self.engine.time(launches, rounds))
    }

    /// Calls `run` with the launches.
    pub(crate) fn launches<R>(&self, run: impl FnOnce(&[Launch<'_>]) -> R) -> R {
        let args: Vec<Vec<Arg<'_>>> = self
            .launches
            .iter()
            .zip(&self.maps)
            .map(|(launch, maps)| self.args(&launch.params, maps.as_ref()))
            .collect();
        let launches: Vec<Launch<'_>> = self
            .launches
            .iter()
            .zip(&args)
            .map(|(launch, args)| launch.with(args))
            .collect();
        run(&launches)
    }

    fn args<'a>(&self, params: &'a [Param], maps: Option<&Buffer<'_>>) -> Vec<Arg<'a>> {
        let mut args = Vec::new();
        for param in params {
            let arg = match param {
                Param::Input(index) => {
                    args.push(Arg::Ptr(self.inputs[*index].ptr()));
                    Arg::U64(self.input_lens[*index] as u64)
                }
                Param::InputPtr(index) => Arg::Ptr(self.inputs[*index].ptr()),
                Param::Output => Arg::Ptr(self.output.ptr()),
                Param::Workspace => Arg::Ptr(self.workspace.ptr()),
                Param::WorkspaceAt(offset) => Arg::Ptr(DevicePtr(self.workspace.ptr().0 + offset)),
                // Where there is such a parameter there are maps.
                Param::TensorMaps(_) => Arg::Ptr(maps.map_or(DevicePtr(0), Buffer::ptr)),
                Param::U32(value) => Arg::U32(*value),
                Param::F32(value) => Arg::F32(*value),
                Param::Bytes(bytes) => Arg::Bytes(bytes),
            };
            args.push(arg);
        }
        args
    }
}

/// The tensor maps that a launch names, in device memory.
fn tensor_maps<'e>(
    engine: &'e dyn Engine,
    params: &[Param],
    start: impl Fn(Place) -> DevicePtr,
) -> Result<Option<Buffer<'e>>, EngineError> {
    let wanted = params.iter().find_map(|param| match param {
        Param::TensorMaps(maps) => Some(maps),
        _ => None,
    });
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    for map in wanted {
        bytes.extend(engine.tensor_map(&MatrixMap {
            address: start(map.place),
            element_bytes: map.element_bytes,
            columns: map.columns,
            rows: map.rows,
            matrices: map.matrices,
            row_bytes: u64::from(map.pitch) * u64::from(map.element_bytes),
            matrix_bytes: map.stride * u64::from(map.element_bytes),
            box_columns: map.box_columns,
            box_rows: map.box_rows,
        })?);
    }
    let buffer = Buffer::new(engine, bytes.len())?;
    buffer.upload(&bytes)?;
    Ok(Some(buffer))
}

impl Prepared {
    fn with<'a>(&self, args: &'a [Arg<'a>]) -> Launch<'a> {
        Launch {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared_bytes,
            args,
        }
    }
}

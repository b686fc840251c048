//! Launches in a row on one memory.

use crate::output::Destination;
use anyhow::{Context, anyhow, bail};
use ptx_emulator::sanitize::{Finding, Problem};
use ptx_emulator::{
    Args, Counters, Kernel, LaunchConfig, LaunchError, Memory, Module, NoObserver, Sanitizer,
};
use ptx_pictures::AccessTrace;
use std::io::Write;
use std::num::NonZeroUsize;
use warpladder::memory;
use warpladder_lab::emulate::compare::compare;
use warpladder_lab::emulate::script::{Expect, Launch, Line, Step};
use warpladder_lab::emulate::{
    Argument, Buffers, Placed, Scalar, content_of, npy, place, place_buffer,
};
use warpladder_lab::profile::Measurement;

/// Elements of an array that are shown.
const SHOWN: usize = 6;

/// What is to be done.
pub(super) struct Plan {
    pub(super) lines: Vec<Line>,
    /// The script's name; none of what the command line describes.
    pub(super) script: Option<String>,
}

impl Plan {
    /// Where a step stands, for messages; empty on the command line.
    pub(super) fn place(&self, line: &Line) -> String {
        match &self.script {
            Some(script) => format!("{script}, line {}", line.number),
            None => String::new(),
        }
    }

    /// That the module has the kernels: what it does not have is an error before anything runs.
    pub(super) fn check(&self, name: &str, module: &Module) -> anyhow::Result<()> {
        for line in &self.lines {
            if let Step::Launch(launch) = &line.step {
                let known = module
                    .kernel(&launch.entry)
                    .with_context(|| name.to_owned());
                known
                    .with_context(|| self.place(line))
                    .map_err(super::flat)?;
            }
        }
        Ok(())
    }

    /// What an array is called.
    fn label(&self, name: &str) -> String {
        match self.script {
            Some(_) => name.to_owned(),
            None => format!("argument {name}"),
        }
    }

    /// The files to write, by step; they can be written to.
    pub(super) fn open_outputs(&self) -> anyhow::Result<Vec<Option<Destination>>> {
        let open = |line: &Line| match &line.step {
            Step::Out { file, .. } => {
                let opened = Destination::open(file).with_context(|| self.place(line));
                opened.map(Some).map_err(super::flat)
            }
            _ => Ok(None),
        };
        self.lines.iter().map(open).collect()
    }
}

/// What watches the launches.
pub(super) enum Watch<'s> {
    Nothing,
    /// Each launch with its counts.
    Profile(Vec<(String, Measurement)>),
    /// The accesses of one warp of the last launch.
    Trace(AccessTrace),
    /// Each launch with what was found in it, but for leaks.
    Sanitizer(Box<Sanitizer>, Vec<(Launch, Vec<Finding>)>),
    /// Runs the launches in its own way.
    Stepper(&'s mut dyn Stepper),
}

/// What runs launches in a way of its own, on kernels that are decoded for stepping.
pub(crate) trait Stepper {
    /// The arrays in memory: address and type of the elements.
    fn set_arrays(&mut self, arrays: Vec<(u64, Scalar)>);

    /// Runs a launch.
    fn launch(
        &mut self,
        kernel: &Kernel,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<(), LaunchError>;

    /// Whether nothing more is wanted, not even the results.
    fn is_left(&self) -> bool;
}

/// Memory on which steps are run.
pub(super) struct Session<'m> {
    module: &'m Module,
    budget: u64,
    workers: Option<NonZeroUsize>,
    pub(super) memory: Memory,
    buffers: Buffers,
    pub(super) watch: Watch<'m>,
    /// What the steps after a launch found, in their order: shown arrays and comparisons.
    lines: Vec<String>,
    /// What the arrays to be written held at their steps.
    written: Vec<(usize, npy::Array)>,
    is_as_expected: bool,
}

impl<'m> Session<'m> {
    /// Launches end after `budget` warp instructions and run on `workers` threads, by default one
    /// for each processor.
    pub(super) fn new(
        module: &'m Module,
        budget: u64,
        workers: Option<NonZeroUsize>,
        watch: Watch<'m>,
    ) -> Self {
        Session {
            module,
            budget,
            workers,
            memory: Memory::with_capacity(memory::available().unwrap_or(u64::MAX)),
            buffers: Buffers::new(),
            watch,
            lines: Vec::new(),
            written: Vec::new(),
            is_as_expected: true,
        }
    }

    /// Runs all steps; the inner error is the fault of a kernel, behind which none is run.
    pub(super) fn run(&mut self, plan: &Plan) -> anyhow::Result<Result<(), LaunchError>> {
        for (index, line) in plan.lines.iter().enumerate() {
            let done = self.step(plan, index, &line.step);
            let done = done
                .with_context(|| plan.place(line))
                .map_err(super::flat)?;
            if done.is_err() {
                return Ok(done);
            }
        }
        Ok(Ok(()))
    }

    fn step(
        &mut self,
        plan: &Plan,
        index: usize,
        step: &Step,
    ) -> anyhow::Result<Result<(), LaunchError>> {
        match step {
            Step::Buffer { name, argument } => {
                if self.buffers.iter().any(|(known, _)| known == name) {
                    bail!("there is a buffer {name:?} already");
                }
                let seed = self.buffers.len();
                let placed = place_buffer(argument, seed, &self.memory)?;
                self.buffers.push((name.clone(), placed));
            }
            Step::Variable { name, argument } => self.set_variable(name, argument)?,
            Step::Launch(launch) => return self.launch(plan, launch),
            Step::Show { name } => {
                let line = show(self.buffer(name)?, &self.memory)?;
                self.lines.push(format!("{}: {line}", plan.label(name)));
            }
            Step::Out { name, .. } => {
                let array = self.buffer(name)?.read(&self.memory)?;
                self.written.push((index, array));
            }
            Step::Expect(expect) => self.compare(plan, expect)?,
            _ => bail!("this step cannot be run"),
        }
        Ok(Ok(()))
    }

    fn buffer(&self, name: &str) -> anyhow::Result<&Placed> {
        let known = self.buffers.iter().rev().find(|(known, _)| known == name);
        let (_, buffer) = known.with_context(|| {
            let names: Vec<&str> = self.buffers.iter().map(|(name, _)| name.as_str()).collect();
            format!(
                "there is no buffer {name:?}; there are: {}",
                names.join(", ")
            )
        })?;
        Ok(buffer)
    }

    fn set_variable(&self, name: &str, argument: &Argument) -> anyhow::Result<()> {
        let variable = self.module.variable(&self.memory, name)?;
        let (address, room) = variable
            .with_context(|| format!("the module has no .const or .global variable `{name}`"))?;
        let content = content_of(argument, &self.buffers)
            .map_err(|error| anyhow!("variable `{name}`: {error}"))?;
        if content.len() as u64 > room {
            bail!(
                "variable `{name}` has {room} bytes, its content {}",
                content.len()
            );
        }
        self.memory.write(address, &content)?;
        Ok(())
    }

    /// Runs a kernel; the inner error is its fault.
    fn launch(&mut self, plan: &Plan, launch: &Launch) -> anyhow::Result<Result<(), LaunchError>> {
        let is_stepped = matches!(self.watch, Watch::Stepper(_));
        let kernel = match is_stepped {
            true => self.module.kernel_for_stepping(&launch.entry)?,
            false => self.module.kernel(&launch.entry)?,
        };
        let placement = place(&launch.arguments, &self.buffers, &self.memory)?;
        let config = LaunchConfig {
            cluster: launch.cluster,
            cooperative: launch.cooperative,
            dynamic_shared_bytes: launch.shared,
            instruction_budget: self.budget,
            workers: self.workers.map(NonZeroUsize::get),
            ..LaunchConfig::new(launch.grid, launch.block)
        };
        if plan.script.is_none() {
            self.buffers.extend(placement.arrays);
        }
        let (memory, args) = (&self.memory, &placement.args);
        let ended = match &mut self.watch {
            Watch::Nothing => kernel.launch_observed(memory, &config, args, &mut NoObserver),
            Watch::Profile(launches) => {
                let mut counters = Counters::new();
                let ended = kernel.launch_observed(memory, &config, args, &mut counters);
                launches.push((launch.entry.clone(), Measurement::from(&counters)));
                ended
            }
            Watch::Stepper(stepper) => {
                let buffers = self.buffers.iter();
                let arrays = buffers.map(|(_, placed)| (placed.address, placed.element));
                stepper.set_arrays(arrays.collect());
                match stepper.launch(&kernel, memory, &config, args) {
                    Ok(()) => return Ok(Ok(())),
                    Err(error) => Err(error),
                }
            }
            Watch::Trace(trace) => kernel.launch_observed(memory, &config, args, trace),
            Watch::Sanitizer(sanitizer, found) => {
                let ended = kernel.launch_observed(memory, &config, args, &mut **sanitizer);
                let mut findings = sanitizer.findings();
                // What is left on the device heap may yet be freed.
                findings.retain(|finding| finding.problem != Problem::Leak);
                if matches!(ended, Ok(_) | Err(LaunchError::Fault(_))) {
                    found.push((launch.clone(), findings));
                }
                ended
            }
        };
        match ended {
            Ok(_) => Ok(Ok(())),
            Err(ended @ (LaunchError::Fault(_) | LaunchError::Stopped)) => Ok(Err(ended)),
            Err(refused) => Err(refused.into()),
        }
    }

    fn compare(&mut self, plan: &Plan, expect: &Expect) -> anyhow::Result<()> {
        let file = expect.file.display();
        let found = self.buffer(&expect.name)?.read(&self.memory)?;
        let expected = npy::read(&expect.file).with_context(|| file.to_string())?;
        let label = plan.label(&expect.name);
        let differences = compare(&found, &expected, expect.tolerance)
            .map_err(|error| anyhow!("{label} beside {file}: {error}"))?;
        if differences.count == 0 {
            let line = format!("{label}: {} elements as in {file}", differences.of);
            self.lines.push(line);
            return Ok(());
        }
        self.is_as_expected = false;
        let (count, of) = (differences.count, differences.of);
        self.lines.push(format!(
            "{label}: {count} of {of} elements differ from {file}:"
        ));
        let first = differences.first.iter().map(|line| format!("  {line}"));
        self.lines.extend(first);
        if differences.count > differences.first.len() {
            self.lines.push("  ...".to_owned());
        }
        Ok(())
    }

    /// Writes what was shown, compared and kept; whether all was as expected.
    pub(super) fn report(
        &mut self,
        plan: &Plan,
        mut outputs: Vec<Option<Destination>>,
        out: &mut impl Write,
    ) -> anyhow::Result<bool> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        for (index, array) in &self.written {
            if let Some(destination) = outputs.get_mut(*index).and_then(Option::take) {
                let written = destination.write(&npy::format(array));
                written
                    .with_context(|| plan.place(&plan.lines[*index]))
                    .map_err(super::flat)?;
            }
        }
        Ok(self.is_as_expected)
    }
}

/// Type, lengths and the first elements of an array.
fn show(array: &Placed, memory: &Memory) -> anyhow::Result<String> {
    let array = array.read(memory)?;
    let elements = array.bytes.chunks_exact(array.element.bytes());
    let more = if elements.len() > SHOWN { " ..." } else { "" };
    let shown: Vec<String> = elements
        .take(SHOWN)
        .map(|bytes| array.element.show(bytes))
        .collect();
    let lengths: Vec<String> = array.shape.iter().map(usize::to_string).collect();
    let (element, lengths) = (array.element, lengths.join(","));
    Ok(format!("{element}[{lengths}] = {}{more}", shown.join(" ")))
}

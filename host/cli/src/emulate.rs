//! `warpladder emulate`.

use super::output::{self, Destination};
use super::profile;
use crate::outcome::Outcome;
use anyhow::{Context, anyhow, bail};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{
    Counters, DEFAULT_INSTRUCTION_BUDGET, Kernel, LaunchConfig, LaunchError, Memory, Module,
    NoObserver, Observer, Sanitizer,
};
use std::io::Write;
use std::path::PathBuf;
use warpladder::memory;
use warpladder_lab::emulate::{Argument, Placed, Placement, npy, place};
use warpladder_lab::profile::Measurement;

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// PTX text
    file: PathBuf,
    /// The kernel in it
    entry: String,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y,Z]", default_value = "1", value_parser = extents)]
    grid: Extents,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y,Z]", default_value = "1", value_parser = extents)]
    block: Extents,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// A parameter of the kernel, in order: TYPE:VALUE or TYPE[LENGTHS]=CONTENT
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    arg: Vec<String>,
    /// Write what array argument INDEX (from 0) holds afterwards as a NumPy file
    #[arg(long, value_name = "INDEX:FILE.npy")]
    out: Vec<String>,
    /// Warp instructions after which a kernel that does not end is stopped
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_INSTRUCTION_BUDGET)]
    budget: u64,
    /// Report what the kernel does to the machine, in totals and by source line
    #[arg(long)]
    profile: bool,
    /// Look for races, wrong addresses, uninitialised reads and broken barriers
    #[arg(long)]
    sanitize: bool,
}

const AFTER_HELP: &str = "\
Arguments:
  u32:1024  f32:1.5  s64:-1          values; types are u8 to u64, s8 to s64, f16, bf16, f32, f64
  bytes:00ff10                       an aggregate passed by value
  f32[4096]=random:7                 an array of 4096 floats from [-1, 1), drawn by seed 7
  f32[64,64]=zero                    also nan, iota (0, 1, 2 ...), none (nothing is written), \
a number
  f32[]=a.npy                        the array of a NumPy file, with its shape; bf16 is kept as u16

Example, in a clone of the repository:
  warpladder emulate examples/axpy.ptx axpy --grid 16 --block 256 --arg 'f32[4096]=iota' --arg \
  'f32[4096]=random' \\
      --arg f32:2 --arg u32:4096 --out 1:y.npy --profile --sanitize";

/// Elements of an array that are shown.
const SHOWN: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Extents([u32; 3]);

fn extents(text: &str) -> Result<Extents, String> {
    let mut extents = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("write X, X,Y or X,Y,Z".to_owned());
    }
    for (extent, part) in extents.iter_mut().zip(parts) {
        *extent = part.parse().map_err(|_| format!("{part:?} is no number"))?;
    }
    Ok(Extents(extents))
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let name = args.file.display();
    let text =
        std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {name}"))?;
    let module = Module::parse(&text).with_context(|| format!("{name}"))?;
    let kernel = module
        .kernel(&args.entry)
        .with_context(|| format!("{name}"))?;
    let arguments = parse_arguments(&args.arg)?;
    let outputs = parse_outputs(args, &arguments)?;
    let config = LaunchConfig {
        dynamic_shared_bytes: args.shared,
        instruction_budget: args.budget,
        ..LaunchConfig::new(args.grid.0, args.block.0)
    };
    let case = EmulatedLaunch {
        kernel,
        arguments,
        config,
    };
    let mut out = output::stdout();

    let mut outcome = Outcome::Done;
    if args.sanitize {
        let mut sanitizer = Sanitizer::new(&Tool::ALL);
        // A fault is among the findings.
        let (run, ended) = case.launch(&mut sanitizer)?;
        if ended.is_err() {
            out.write_all(&run.memory.take_printed())?;
        }
        let findings = sanitizer.findings();
        for finding in &findings {
            writeln!(out, "{finding}")?;
        }
        match findings.len() {
            0 => writeln!(out, "no findings")?,
            _ => outcome = Outcome::ChecksFailed,
        }
        if ended.is_err() {
            return Ok(outcome);
        }
    }
    let mut counters = Counters::new();
    let (run, ended) = match args.profile {
        true => case.launch(&mut counters)?,
        false => case.launch(&mut NoObserver)?,
    };
    out.write_all(&run.memory.take_printed())?;
    if let Err(fault) = ended {
        writeln!(out, "{fault}")?;
        return Ok(Outcome::ChecksFailed);
    }
    let arrays = &run.placement.arrays;
    for (index, array) in arrays.iter().enumerate() {
        if let Some(array) = array {
            writeln!(out, "argument {index}: {}", show(array, &run.memory)?)?;
        }
    }
    for (index, destination) in outputs {
        if let Some(array) = &arrays[index] {
            destination.write(&npy::format(&array.read(&run.memory)?))?;
        }
    }
    if args.profile {
        let entry = &args.entry;
        writeln!(out, "{entry} on the PTX emulator")?;
        profile::print_measurement(&mut out, &Measurement::from(&counters), false)?;
    }
    Ok(outcome)
}

fn parse_arguments(texts: &[String]) -> anyhow::Result<Vec<Argument>> {
    let parse = |(index, text): (usize, &String)| {
        text.parse()
            .map_err(|error| anyhow!("argument {index}: {error}"))
    };
    texts.iter().enumerate().map(parse).collect()
}

/// The arrays to write, and their files, which can be written to.
fn parse_outputs(args: &Args, arguments: &[Argument]) -> anyhow::Result<Vec<(usize, Destination)>> {
    let mut outputs = Vec::new();
    for text in &args.out {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(index, file)| Some((index.parse::<usize>().ok()?, file)));
        let Some((index, file)) = parts else {
            bail!("--out {text}: write INDEX:FILE.npy, for example 2:c.npy");
        };
        match arguments.get(index) {
            Some(Argument::Array { .. }) => {}
            Some(Argument::Value(_)) => bail!("--out {text}: argument {index} is no array"),
            None => bail!(
                "--out {text}: there are {} arguments, the first is 0",
                arguments.len()
            ),
        }
        outputs.push((index, Destination::open(file)?));
    }
    Ok(outputs)
}

/// A launch that can be repeated, each time on memory of its own.
struct EmulatedLaunch {
    kernel: Kernel,
    arguments: Vec<Argument>,
    config: LaunchConfig,
}

/// A launch's memory and what was put into it.
struct Run {
    memory: Memory,
    placement: Placement,
}

impl EmulatedLaunch {
    /// Runs the kernel; the inner error is its fault.
    fn launch<O: Observer>(
        &self,
        observer: &mut O,
    ) -> anyhow::Result<(Run, Result<(), LaunchError>)> {
        let memory = Memory::with_capacity(memory::available().unwrap_or(u64::MAX));
        let placement = place(&self.arguments, &memory)?;
        let EmulatedLaunch { kernel, config, .. } = self;
        let ended = kernel.launch_observed(&memory, config, &placement.args, observer);
        let ended = match ended {
            Ok(_) => Ok(()),
            Err(fault @ LaunchError::Fault(_)) => Err(fault),
            Err(refused) => return Err(refused.into()),
        };
        Ok((Run { memory, placement }, ended))
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

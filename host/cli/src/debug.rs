//! `warpladder debug`.

mod code;
mod command;
mod debugger;
mod focus;
mod input;
mod memory;
mod show;
mod stops;
mod value;

use super::emulate::{self, LaunchArgs};
use super::select;
use super::shape::{Awkward, Shapes};
use crate::interrupt;
use crate::outcome::Outcome;
use anyhow::{Context, bail};
use debugger::Debugger;
use ptx_emulator::{LaunchError, Module};
use std::path::Path;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::{EngineError, LaunchCause};
use warpladder_lab::observe::observe;
use warpladder_lab::run::{RunError, preflight};
use warpladder_lab::sanitize::default_shape;

#[derive(clap::Args)]
#[command(after_help = "\
Commands come from standard input, a line each, with a prompt where that is a terminal; help lists
them. The launch is stopped before its first instruction, at breakpoints, where the sanitizers find
an error, and where it ends, in a fault or not.

Examples:
  warpladder debug tiled_32
  warpladder debug examples/axpy.ptx axpy --grid 2 --block 64 --arg 'f32[100]=iota' \\
      --arg 'f32[100]=random' --arg f32:2 --arg u32:100")]
pub(super) struct Args {
    /// A kernel of the catalogue, or a file of PTX text
    #[arg(value_name = "KERNEL|FILE.ptx")]
    target: String,
    /// The kernel in the file [default: the only one]
    entry: Option<String>,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    shapes: Shapes<Awkward>,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    interrupt::keep();
    let is_file = args.target.ends_with(".ptx") || Path::new(&args.target).is_file();
    match is_file {
        true => debug_file(args)?,
        false => debug_kernel(args)?,
    }
    Ok(Outcome::Done)
}

/// A kernel of a file, launched as `emulate` does.
fn debug_file(args: &Args) -> anyhow::Result<()> {
    if args.shapes.is_given() {
        bail!("--shape is for kernels of the catalogue: give --grid, --block and --arg");
    }
    let name = &args.target;
    let text =
        ptx_emulator::read_file(Path::new(name)).with_context(|| format!("cannot read {name}"))?;
    let module = Module::parse(&text).with_context(|| name.clone())?;
    let entry = match (&args.entry, args.launch.has_script()) {
        (None, false) => Some(only_kernel(name, &module)?),
        (entry, _) => entry.clone(),
    };
    let mut debugger = Debugger::new();
    loop {
        emulate::step_through(
            &args.launch,
            entry.as_deref(),
            (name, &module),
            &mut debugger,
        )?;
        if !debugger.after()? {
            return Ok(());
        }
    }
}

fn only_kernel(file: &str, module: &Module) -> anyhow::Result<String> {
    let names: Vec<&str> = module.kernel_names().collect();
    match names[..] {
        [name] => Ok(name.to_owned()),
        [] => bail!("{file} has no kernel"),
        _ => bail!(
            "{file} has several kernels: name one of {}",
            names.join(", ")
        ),
    }
}

/// A kernel of the catalogue, with the launches of its plan.
fn debug_kernel(args: &Args) -> anyhow::Result<()> {
    let rung = select::kernel(&args.target)?;
    if args.launch.is_given() || args.entry.is_some() {
        bail!(
            "{} is a kernel of the catalogue, which plans its launch itself: give --shape alone",
            rung.name
        );
    }
    let shape = match args.shapes.is_given() {
        true => args.shapes.one(default_shape(rung).m, rung)?,
        false => default_shape(rung),
    };
    let mut debugger = Debugger::new();
    loop {
        let engine = EmulatorEngine::for_stepping(args.launch.budget);
        let admitted = preflight(&engine, rung, shape)?;
        let (observer, ended) = observe(&engine, &admitted, args.shapes.seed, debugger)?;
        debugger = observer;
        ended.or_else(unless_shown)?;
        if !debugger.after()? {
            return Ok(());
        }
    }
}

/// A fault has been shown already, and that the launch was ended is known.
fn unless_shown(error: RunError) -> anyhow::Result<()> {
    match &error {
        RunError::Engine(EngineError::Launch {
            cause: LaunchCause::Emulator(cause),
            ..
        }) if matches!(**cause, LaunchError::Fault(_) | LaunchError::Stopped) => Ok(()),
        _ => Err(error.into()),
    }
}

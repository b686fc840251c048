//! `warpladder draw`.

use super::output::{Destination, human_output};
use super::select;
use super::shape::{Emulated, Shapes};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use anyhow::bail;
use ptx_pictures::{AccessTrace, Watched};
use std::io::Write;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::run::{describe, preflight};
use warpladder_lab::trace::trace;

#[derive(clap::Args)]
#[command(after_help = "\
A cell of the picture is a word of 4 bytes, with the lanes that touch it. Of global memory it shows
the sectors of 32 bytes that one execution of each instruction touches, of shared memory the banks:
words of one bank stand above each other, and each of them costs a pass.

Examples:
  warpladder draw transpose_coalesced --shape 64
  warpladder draw naive --shape 64 --warp 1 --svg naive.svg")]
pub(super) struct Args {
    /// The kernel
    kernel: String,
    #[command(flatten)]
    shapes: Shapes<Emulated>,
    /// The block whose accesses are drawn, as X or X,Y or X,Y,Z
    #[arg(long, value_name = "X,Y,Z", value_parser = block, default_value = "0")]
    block: [u32; 3],
    /// The warp of the block
    #[arg(long, value_name = "N", default_value_t = 0)]
    warp: u32,
    /// The file; - is standard output [default: the kernel's name with .svg]
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
}

/// Small enough that a row of a matrix is a few sectors.
const DEFAULT_SIZE: u32 = 64;

pub(super) fn block(text: &str) -> Result<[u32; 3], String> {
    let wrong = || format!("{text:?} is no block: write X or X,Y or X,Y,Z");
    let numbers: Vec<u32> = text
        .split(',')
        .map(|number| number.trim().parse().map_err(|_| wrong()))
        .collect::<Result<_, _>>()?;
    match numbers[..] {
        [x] => Ok([x, 0, 0]),
        [x, y] => Ok([x, y, 0]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err(wrong()),
    }
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let rung = select::kernel(&args.kernel)?;
    let file = args
        .svg
        .clone()
        .unwrap_or_else(|| format!("{}.svg", rung.name));
    let destination = Destination::open(&file)?;
    let engine = EmulatorEngine::new();
    let shape = args.shapes.one(DEFAULT_SIZE, rung)?;
    let admitted = preflight(&engine, rung, shape)?;
    let speed = EmulatorSpeed::measure(&engine, args.shapes.seed)?;
    let seconds = speed.runs(rung, admitted.shape(), 1)?;
    estimate::announce(seconds, "a smaller --shape takes less")?;
    let watched = Watched {
        block: args.block,
        warp: args.warp,
    };
    let trace = trace(&engine, &admitted, args.shapes.seed, watched)?;
    let drawn = Drawn {
        kernel: rung.name,
        title: format!(
            "{} at {}",
            rung.name,
            describe(rung.operation, admitted.shape())
        ),
        options: "--block and --warp, or a larger --shape",
        file: &file,
    };
    drawn.write(&trace, destination)?;
    Ok(Outcome::Done)
}

/// What a picture is of, and where it goes.
pub(super) struct Drawn<'a> {
    pub(super) kernel: &'a str,
    pub(super) title: String,
    /// What chooses another warp.
    pub(super) options: &'static str,
    pub(super) file: &'a str,
}

impl Drawn<'_> {
    /// Writes the picture of a warp's accesses to the file, which is open already.
    pub(super) fn write(
        &self,
        trace: &AccessTrace,
        destination: Destination,
    ) -> anyhow::Result<()> {
        let Watched { block, warp } = trace.watched();
        let [x, y, z] = block;
        if trace.accesses().is_empty() {
            bail!(
                "{} has no accesses by lanes in block ({x}, {y}, {z}), warp {warp}: choose another \
                 with {}",
                self.kernel,
                self.options
            );
        }
        let title = format!("{}: block ({x}, {y}, {z}), warp {warp}", self.title);
        let is_stdout = destination.is_stdout();
        destination.write(ptx_pictures::accesses(trace, &title).as_bytes())?;
        if !is_stdout {
            let count = trace.accesses().len();
            writeln!(
                human_output(false),
                "{}: {count} instructions that access memory",
                self.file
            )?;
        }
        Ok(())
    }
}

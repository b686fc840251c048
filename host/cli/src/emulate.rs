//! `warpladder emulate`.

mod session;

use super::draw::{self, Drawn};
use super::profile;
use crate::outcome::Outcome;
use crate::output::{Destination, human_output};
use crate::sanitize::FindingRecord;
use crate::sanitize::report::{self, Format, Report, ReportArgs};
use anyhow::{Context, anyhow, bail};
use ptx_emulator::sanitize::{Finding, Problem, Tool};
use ptx_emulator::{DEFAULT_INSTRUCTION_BUDGET, LaunchError, Module, Sanitizer};
use ptx_pictures::{AccessTrace, Watched};
use session::{Plan, Session, Watch};

pub(crate) use session::Stepper;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use warpladder_lab::emulate::Argument;
use warpladder_lab::emulate::script::{self, Launch, Line, Step, extents};

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// PTX text
    file: PathBuf,
    /// The kernel in it
    #[arg(required_unless_present = "script")]
    entry: Option<String>,
    #[command(flatten)]
    launch: LaunchArgs,
    /// Threads that run blocks [default: one for each processor]; by 1 they run in order, and what
    /// a race between blocks leaves is the same each time
    #[arg(long, value_name = "COUNT")]
    workers: Option<NonZeroUsize>,
    /// Write what array argument INDEX (from 0) holds afterwards as a NumPy file
    #[arg(long, value_name = "INDEX:FILE.npy", conflicts_with = "script")]
    out: Vec<String>,
    /// Compare what array argument INDEX holds afterwards with a NumPy file
    #[arg(
        long,
        value_name = "INDEX=FILE.npy[,TOLERANCE]",
        conflicts_with = "script"
    )]
    expect: Vec<String>,
    /// Report what the kernel does to the machine, in totals and by source line
    #[arg(long)]
    profile: bool,
    /// Look for races, wrong addresses, uninitialised reads and broken barriers
    #[arg(long)]
    sanitize: bool,
    #[command(flatten)]
    report: ReportArgs,
    /// Draw the memory accesses of one warp, as `draw` does; - is standard output
    #[arg(long, value_name = "FILE.svg", conflicts_with_all = ["script", "profile"])]
    draw: Option<String>,
    /// The block whose accesses are drawn
    #[arg(long, value_name = "X[,Y,Z]", requires = "draw", value_parser = draw::block)]
    draw_block: Option<[u32; 3]>,
    /// The warp of that block
    #[arg(long, value_name = "N", requires = "draw")]
    draw_warp: Option<u32>,
}

/// A launch of a kernel in a PTX file, or a script of them.
#[derive(clap::Args)]
pub(super) struct LaunchArgs {
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y,Z]", default_value = "1", value_parser = parse_extents)]
    grid: Extents,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y,Z]", default_value = "1", value_parser = parse_extents)]
    block: Extents,
    /// Blocks of a cluster [default: what the kernel names, or no clusters]
    #[arg(long, value_name = "X[,Y,Z]", value_parser = parse_extents)]
    cluster: Option<Extents>,
    /// Launch cooperatively: all blocks are resident, and may wait for each other (grid.sync())
    #[arg(long)]
    cooperative: bool,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// A parameter of the kernel, in order: TYPE:VALUE, TYPE[LENGTHS]=CONTENT or {FIELD,FIELD...}
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    arg: Vec<String>,
    /// What a .const or .global variable of the module holds, as an argument
    #[arg(
        long = "const",
        value_name = "NAME=ARGUMENT",
        allow_hyphen_values = true
    )]
    variable: Vec<String>,
    /// Run the launches of a script, whose buffers stay from one to the next
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "entry", "grid", "block", "cluster", "cooperative", "shared", "arg", "variable"
        ]
    )]
    script: Option<PathBuf>,
    /// Warp instructions after which a kernel that does not end is stopped
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_INSTRUCTION_BUDGET)]
    pub(super) budget: u64,
}

impl LaunchArgs {
    /// Whether a script describes the launches.
    pub(super) fn has_script(&self) -> bool {
        self.script.is_some()
    }

    /// Whether anything of a launch is given.
    pub(super) fn is_given(&self) -> bool {
        let is_given = |Extents(extents): Extents| extents != [1; 3];
        is_given(self.grid)
            || is_given(self.block)
            || self.cluster.is_some()
            || self.cooperative
            || self.shared != 0
            || !self.arg.is_empty()
            || !self.variable.is_empty()
            || self.script.is_some()
    }
}

const AFTER_HELP: &str = "\
Arguments:
  u32:1024  f32:1.5  s64:-1          values; types are u8 to u64, s8 to s64, f16, bf16, f32, f64
  bytes:00ff10                       an aggregate passed by value
  {u32:64,f32[64]=zero,f32:1.5}      a struct passed by value, laid out as in C; arrays are pointers
  f32[4096]=random:7                 an array of 4096 floats from [-1, 1), drawn by seed 7
  f32[64,64]=zero                    also nan, iota (0, 1, 2 ...), none (nothing is written), \
a number
  f32[]=a.npy                        the array of a NumPy file, with its shape; bf16 is kept as u16

An array in a struct has the index INDEX.FIELD, such as 1.0.

Script, a step in each line, with arguments as above:
  buffer x f32[4096]=iota            an array that stays
  const scale f32:2                  a variable of the module
  launch axpy grid=16 block=256 @x f32[4096]=zero f32:2 u32:4096
  show x                             its first elements
  expect x wanted.npy 1e-6           compare, exactly without a tolerance
  out x x.npy

The exit status is 0, 1 where something is wrong (--error-exitcode where the sanitizers find an
error), or 2 where nothing could be run. docs/sanitizers.md describes the findings.

Example, in a clone of the repository:
  warpladder emulate examples/axpy.ptx axpy --grid 16 --block 256 --arg 'f32[4096]=iota' --arg \
  'f32[4096]=random' \\
      --arg f32:2 --arg u32:4096 --out 1:y.npy --profile --sanitize";

#[derive(Clone, Copy, Debug)]
struct Extents([u32; 3]);

fn parse_extents(text: &str) -> Result<Extents, String> {
    extents(text).map(Extents)
}

/// A launch as `--format json` writes it.
#[derive(serde::Serialize)]
struct EmulateRecord {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    findings: Vec<FindingRecord>,
}

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let name = args.file.display().to_string();
    let format = args.report.format;
    if format != Format::Text && !args.sanitize {
        bail!("--format writes findings: it needs --sanitize");
    }
    let text =
        std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {name}"))?;
    let module = Module::parse(&text).with_context(|| name.clone())?;
    let mut report = args.report.report()?;
    let plan = plan(
        &args.launch,
        args.entry.as_deref(),
        (&args.out, &args.expect),
    )?;
    plan.check(&name, &module)?;
    let outputs = plan.open_outputs()?;
    let picture = args.draw.as_deref().map(Destination::open).transpose()?;
    let is_stdout = picture.as_ref().is_some_and(Destination::is_stdout);
    let mut out = human_output(format != Format::Text || is_stdout);
    if args.sanitize {
        let ended = sanitize(args, &module, &plan, &mut report, &mut out)?;
        if ended.is_err() {
            return Ok(report.outcome());
        }
    }
    let watch = match &picture {
        Some(_) => Watch::Trace(AccessTrace::new(Watched {
            block: args.draw_block.unwrap_or_default(),
            warp: args.draw_warp.unwrap_or_default(),
        })),
        None if args.profile => Watch::Profile(Vec::new()),
        None => Watch::Nothing,
    };
    let mut session = Session::new(&module, args.launch.budget, args.workers, watch);
    let ended = session.run(&plan)?;
    out.write_all(&session.memory.take_printed())?;
    if let Err(fault) = ended {
        writeln!(out, "{fault}")?;
        return Ok(Outcome::ChecksFailed);
    }
    let is_as_expected = session.report(&plan, outputs, &mut out)?;
    if let Watch::Profile(launches) = &session.watch {
        for (entry, measurement) in launches {
            writeln!(out, "{entry} on the PTX emulator")?;
            profile::print_measurement(&mut out, measurement, false)?;
        }
    }
    if let (Watch::Trace(trace), Some(picture)) = (&session.watch, picture) {
        let entry = args.entry.as_deref().unwrap_or_default();
        let drawn = Drawn {
            kernel: entry,
            title: entry.to_owned(),
            options: "--draw-block and --draw-warp",
            file: args.draw.as_deref().unwrap_or("-"),
        };
        drawn.write(trace, picture)?;
    }
    Ok(match (report.outcome(), is_as_expected) {
        (Outcome::Done, false) => Outcome::ChecksFailed,
        (outcome, _) => outcome,
    })
}

/// An error with its context in one line, without that of a command line's steps, which have none.
fn flat(error: anyhow::Error) -> anyhow::Error {
    let parts = error.chain().map(ToString::to_string);
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    anyhow!(parts.join(": "))
}

/// Runs the plan under sanitizers and reports what they find; the inner error is a kernel's fault,
/// which is among the findings.
fn sanitize(
    args: &Args,
    module: &Module,
    plan: &Plan,
    report: &mut Report,
    out: &mut impl Write,
) -> anyhow::Result<Result<(), LaunchError>> {
    let sanitizer = Box::new(Sanitizer::new(&Tool::ALL));
    let mut session = Session::new(
        module,
        args.launch.budget,
        args.workers,
        Watch::Sanitizer(sanitizer, Vec::new()),
    );
    let ended = session.run(plan)?;
    if ended.is_err() {
        out.write_all(&session.memory.take_printed())?;
    }
    let Watch::Sanitizer(sanitizer, found) = session.watch else {
        return Ok(ended);
    };
    let is_leak = |finding: &Finding| finding.problem == Problem::Leak;
    let leaks = sanitizer.findings().into_iter().filter(is_leak);
    let mut found = found;
    if let Some((_, last)) = found.last_mut() {
        last.extend(leaks);
    }
    let ptx = args.file.to_string_lossy();
    let mut records = Vec::new();
    for (launch, findings) in found {
        let findings = report.take(findings, Some(&ptx));
        if args.report.format == Format::Text {
            for finding in &findings {
                writeln!(out, "{finding}")?;
            }
        }
        records.push(EmulateRecord {
            kernel: launch.entry,
            grid: launch.grid,
            block: launch.block,
            findings: report::records(findings),
        });
    }
    match args.report.format {
        Format::Text => {}
        Format::Json => Destination::open("-")?.write_records("emulate", true, &records)?,
        Format::Sarif => Destination::open("-")?.write(&report.sarif()?)?,
    }
    report.write_suppressed(out)?;
    if report.count() == 0 {
        writeln!(out, "no findings")?;
    }
    out.flush()?;
    Ok(ended)
}

/// Runs a launch, or a script, of a file's module by a stepper. A launch that ends in a fault, or
/// is ended, is no error.
pub(super) fn step_through(
    args: &LaunchArgs,
    entry: Option<&str>,
    (name, module): (&str, &Module),
    stepper: &mut dyn Stepper,
) -> anyhow::Result<()> {
    let plan = plan(args, entry, (&[], &[]))?;
    plan.check(name, module)?;
    let mut session = Session::new(
        module,
        args.budget,
        Some(NonZeroUsize::MIN),
        Watch::Stepper(stepper),
    );
    let ended = session.run(&plan)?;
    let is_left = matches!(&session.watch, Watch::Stepper(stepper) if stepper.is_left());
    let mut out = human_output(false);
    out.write_all(&session.memory.take_printed())?;
    if ended.is_ok() && !is_left {
        session.report(&plan, Vec::new(), &mut out)?;
    }
    Ok(())
}

/// The steps of a script, or those that the command line describes.
fn plan(
    args: &LaunchArgs,
    entry: Option<&str>,
    (out, expect): (&[String], &[String]),
) -> anyhow::Result<Plan> {
    if let Some(path) = &args.script {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let lines = script::parse(&text).map_err(|error| anyhow!("{name}, {error}"))?;
        return Ok(Plan {
            lines,
            script: Some(name),
        });
    }
    let arguments = parse_arguments(&args.arg)?;
    let mut steps = Vec::new();
    for text in &args.variable {
        let Some((name, content)) = text.split_once('=') else {
            bail!("--const {text}: write NAME=ARGUMENT, for example scale=f32:2");
        };
        let argument = content
            .parse()
            .map_err(|error| anyhow!("--const {text}: {error}"))?;
        steps.push(Step::Variable {
            name: name.to_owned(),
            argument,
        });
    }
    let arrays = arrays(&arguments, "");
    steps.push(Step::Launch(Launch {
        entry: entry.unwrap_or_default().to_owned(),
        grid: args.grid.0,
        block: args.block.0,
        cluster: args.cluster.map(|cluster| cluster.0),
        cooperative: args.cooperative,
        shared: args.shared,
        arguments: arguments.clone(),
    }));
    steps.extend(arrays.into_iter().map(|name| Step::Show { name }));
    for text in out {
        let parts = text.split_once(':').filter(|(index, _)| is_path(index));
        let Some((name, file)) = parts else {
            bail!("--out {text}: write INDEX:FILE.npy, for example 2:c.npy");
        };
        check_array(&arguments, name).with_context(|| format!("--out {text}"))?;
        steps.push(Step::Out {
            name: name.to_owned(),
            file: file.to_owned(),
        });
    }
    for text in expect {
        let parts = text.split_once('=').filter(|(index, _)| is_path(index));
        let Some((name, file)) = parts else {
            bail!("--expect {text}: write INDEX=FILE.npy[,TOLERANCE], for example 2=c.npy,1e-5");
        };
        check_array(&arguments, name).with_context(|| format!("--expect {text}"))?;
        let (file, tolerance) = match file.rsplit_once(',') {
            Some((file, tolerance)) => (file, Some(tolerance)),
            None => (file, None),
        };
        let expect = script::expect(name, file, tolerance);
        let expect = expect.map_err(|error| anyhow!("--expect {text}: {error}"))?;
        steps.push(Step::Expect(expect));
    }
    let lines = steps.into_iter().map(|step| Line { number: 0, step });
    Ok(Plan {
        lines: lines.collect(),
        script: None,
    })
}

fn parse_arguments(texts: &[String]) -> anyhow::Result<Vec<Argument>> {
    let parse = |(index, text): (usize, &String)| {
        text.parse()
            .map_err(|error| anyhow!("argument {index}: {error}"))
    };
    texts.iter().enumerate().map(parse).collect()
}

/// Whether a text is indices between points.
fn is_path(text: &str) -> bool {
    text.split('.').all(|index| index.parse::<usize>().is_ok())
}

/// The positions of the arrays among arguments, or among the fields of one.
fn arrays(arguments: &[Argument], before: &str) -> Vec<String> {
    let each = arguments.iter().enumerate();
    let paths = each.flat_map(|(index, argument)| match argument {
        Argument::Array { .. } => vec![format!("{before}{index}")],
        Argument::Struct(fields) => arrays(fields, &format!("{before}{index}.")),
        _ => Vec::new(),
    });
    paths.collect()
}

/// Whether an array is at a position.
fn check_array(arguments: &[Argument], path: &str) -> anyhow::Result<()> {
    let mut among = arguments;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let index: usize = part.parse().context("no index")?;
        match among.get(index) {
            Some(Argument::Array { .. }) if parts.peek().is_none() => return Ok(()),
            Some(Argument::Struct(fields)) => among = fields,
            Some(_) => bail!("argument {path} is no array"),
            None => bail!("there are {} arguments, the first is 0", among.len()),
        }
    }
    bail!("argument {path} is no array")
}

//! `warpladder sanitize`.

pub(crate) mod report;
mod sarif;
mod suppress;

use super::output::{Destination, human_output};
use super::shape::{Awkward, Shapes};
use super::{progress, select, table, units};
use crate::estimate::{self, EmulatorSpeed};
use crate::outcome::Outcome;
use ptx_emulator::sanitize::{Finding, Tool};
use std::io::Write;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::run::{Admitted, describe, preflight};
use warpladder_lab::sanitize::{default_shape, sanitize};

use report::{Format, ReportArgs};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder sanitize tiled_32
  warpladder sanitize transpose_padded --tool racecheck --shape 64
  warpladder sanitize --format sarif > findings.sarif
  warpladder sanitize tiled_32 --suppress 'kind=race_in_block kernel=tiled_*'

docs/sanitizers.md describes the findings, the rules of --suppress and the exit status.")]
pub(super) struct Args {
    /// Only these kernels, by name or pattern [default: the whole catalogue]
    #[arg(value_name = "KERNEL", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Which sanitizer; out-of-bounds accesses and deadlocks are always found
    #[arg(long, value_enum, default_value_t = ToolArg::All)]
    tool: ToolArg,
    #[command(flatten)]
    shapes: Shapes<Awkward>,
    /// Write the findings as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    #[command(flatten)]
    report: ReportArgs,
}

/// The values of `--tool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ToolArg {
    /// Bounds, alignment, null pointers, use after free
    Memcheck,
    /// Races on shared and on global memory
    Racecheck,
    /// Reads of memory that was never written
    Initcheck,
    /// Barriers and warp operations that not all of their threads reach
    Synccheck,
    /// All four
    All,
}

impl ToolArg {
    fn tools(self) -> &'static [Tool] {
        match self {
            ToolArg::Memcheck => &[Tool::Memcheck],
            ToolArg::Racecheck => &[Tool::Racecheck],
            ToolArg::Initcheck => &[Tool::Initcheck],
            ToolArg::Synccheck => &[Tool::Synccheck],
            ToolArg::All => &Tool::ALL,
        }
    }
}

/// One kernel as `--json` writes it.
#[derive(serde::Serialize)]
struct SanitizeRecord {
    kernel: &'static str,
    /// The rung that ran, where the kernel only chooses one; null elsewhere.
    ran: Option<&'static str>,
    m: u32,
    n: u32,
    /// Null where the kernel has no third dimension.
    k: Option<u32>,
    findings: Vec<FindingRecord>,
}

/// A finding as JSON.
#[derive(serde::Serialize)]
pub(crate) struct FindingRecord {
    tool: Tool,
    /// The problem in words.
    message: &'static str,
    #[serde(flatten)]
    finding: Finding,
}

impl From<Finding> for FindingRecord {
    fn from(finding: Finding) -> Self {
        FindingRecord {
            tool: finding.tool(),
            message: finding.problem.describe(),
            finding,
        }
    }
}

/// Largest extent of a random size.
const LARGEST: u32 = 128;

/// Runs that take about as long as one under the sanitizers.
const SANITIZED_RUNS: usize = 10;

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let emulator = EmulatorEngine::new();
    let cases = select(args, &emulator)?;
    let mut report = args.report.report()?;
    let format = args.report.format;
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let json_on_stdout = json.as_ref().is_some_and(Destination::is_stdout);
    if json_on_stdout && format != Format::Text {
        anyhow::bail!("--json - and --format both write to standard output: leave one out");
    }
    let mut human = human_output(json_on_stdout || format != Format::Text);
    let speed = EmulatorSpeed::measure(&emulator, args.shapes.seed)?;
    let seconds = cases
        .iter()
        .map(|case| speed.runs(case.rung(), case.shape(), SANITIZED_RUNS))
        .sum::<Result<f64, _>>()?;
    estimate::announce(seconds, "fewer kernels and a smaller --shape take less")?;
    let progress = progress::of_pieces(cases.len())?;
    let mut records = Vec::new();
    let mut faulty = 0;
    for admitted in &cases {
        let (rung, shape) = (admitted.rung(), admitted.shape());
        progress.set_message(rung.name);
        let findings = sanitize(&emulator, admitted, args.shapes.seed, args.tool.tools())?;
        let findings = report.take(findings, None);
        if !findings.is_empty() {
            faulty += 1;
            let size = describe(rung.operation, shape);
            progress.suspend(|| {
                writeln!(human, "{} at {size}:", rung.name)?;
                for finding in &findings {
                    writeln!(human, "  {}", finding.to_string().replace('\n', "\n  "))?;
                }
                human.flush()
            })?;
        }
        progress.inc(1);
        let ran = admitted.runs().name;
        records.push(SanitizeRecord {
            kernel: rung.name,
            ran: (ran != rung.name).then_some(ran),
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            findings: report::records(findings),
        });
    }
    progress.finish_and_clear();
    if let Some(json) = json {
        json.write_records("sanitize", true, &records)?;
    }
    match format {
        Format::Text => {}
        Format::Json => Destination::open("-")?.write_records("sanitize", true, &records)?,
        Format::Sarif => Destination::open("-")?.write(&report.sarif()?)?,
    }
    report.write_suppressed(&mut human)?;
    let kernels = units::count(cases.len(), "kernel");
    if report.count() == 0 {
        let line = format!("{kernels}, no findings: {}", looked_at(args, &cases));
        writeln!(human, "{}", table::wrapped(&line, 2))?;
        return Ok(Outcome::Done);
    }
    let findings = match report.warnings {
        0 => units::count(report.count(), "finding"),
        warnings => format!(
            "{}, {} of them warnings,",
            units::count(report.count(), "finding"),
            warnings
        ),
    };
    writeln!(human, "{kernels}, {findings} in {faulty} of them")?;
    Ok(report.outcome())
}

/// Which tools have looked, and at which sizes.
fn looked_at(args: &Args, cases: &[Admitted]) -> String {
    let tools: Vec<String> = args.tool.tools().iter().map(Tool::to_string).collect();
    let mut sizes: Vec<String> = Vec::new();
    for case in cases {
        let size = describe(case.runs().operation, case.shape());
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    format!("{} at {}", tools.join(", "), sizes.join(", "))
}

/// The kernels that the arguments name, and the sizes of each. One that was named must take the
/// sizes; of the whole catalogue or a pattern, those that do not take one are left out there.
fn select(args: &Args, emulator: &EmulatorEngine) -> anyhow::Result<Vec<Admitted>> {
    let rungs: Vec<&'static Rung> = match args.kernels.is_empty() {
        false => select::kernels(&args.kernels)?,
        true => catalogue::rungs()
            .filter(|rung| !matches!(rung.implementation, Implementation::Cpu(_)))
            .collect(),
    };
    let mut cases = Vec::new();
    for rung in rungs {
        let by_name = args.kernels.iter().any(|word| word == rung.name);
        if !args.shapes.is_given() {
            cases.push(preflight(emulator, rung, default_shape(rung))?);
            continue;
        }
        for asked in args.shapes.each(LARGEST)? {
            match asked.of(rung) {
                Ok(shape) => cases.push(preflight(emulator, rung, shape)?),
                Err(error) if by_name => return Err(error.into()),
                Err(_) => {}
            }
        }
    }
    if cases.is_empty() {
        anyhow::bail!("no kernel takes this size: `warpladder list --wide` says what each takes");
    }
    Ok(cases)
}

//! `warpladder sanitize`.

use super::output::{Destination, human_output};
use super::{select, units};
use crate::outcome::Outcome;
use ptx_emulator::sanitize::{Finding, Tool};
use std::io::Write;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{Admitted, check_shape, describe, preflight};
use warpladder_lab::sanitize::{default_shape, sanitize};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  warpladder sanitize tiled_32
  warpladder sanitize transpose_padded --tool racecheck --size 64")]
pub(super) struct Args {
    /// Only these kernels, by name [default: the whole catalogue]
    #[arg(value_name = "KERNEL", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Which sanitizer; out-of-bounds accesses and deadlocks are always found
    #[arg(long, value_enum, default_value_t = ToolArg::All)]
    tool: ToolArg,
    /// Size in every dimension [default: small, and awkward where the kernel takes any]
    #[arg(long, value_name = "N", conflicts_with_all = ["m", "n", "k"])]
    size: Option<u32>,
    /// Rows of a product, or of a transpose's input
    #[arg(long)]
    m: Option<u32>,
    /// Columns
    #[arg(long)]
    n: Option<u32>,
    /// The dimension that a product sums over
    #[arg(long)]
    k: Option<u32>,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the findings as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
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
struct FindingRecord {
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

pub(super) fn execute(args: &Args) -> anyhow::Result<Outcome> {
    let emulator = EmulatorEngine::new();
    let cases = select(args, &emulator)?;
    let json = args.json.as_deref().map(Destination::open).transpose()?;
    let mut human = human_output(json.as_ref().is_some_and(Destination::is_stdout));
    let mut records = Vec::new();
    let (mut faulty, mut total) = (0, 0);
    for admitted in &cases {
        let (rung, shape) = (admitted.rung(), admitted.shape());
        let findings = sanitize(&emulator, admitted, args.seed, args.tool.tools())?;
        if !findings.is_empty() {
            faulty += 1;
            total += findings.len();
            let size = describe(rung.operation, shape);
            writeln!(human, "{} at {size}:", rung.name)?;
            for finding in &findings {
                writeln!(human, "  {}", finding.to_string().replace('\n', "\n  "))?;
            }
        }
        let ran = admitted.runs().name;
        records.push(SanitizeRecord {
            kernel: rung.name,
            ran: (ran != rung.name).then_some(ran),
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            findings: findings.into_iter().map(FindingRecord::from).collect(),
        });
    }
    if let Some(json) = json {
        json.write_json(&records)?;
    }
    let kernels = units::count(cases.len(), "kernel");
    if total == 0 {
        writeln!(human, "{kernels}, no findings")?;
        return Ok(Outcome::Done);
    }
    let findings = units::count(total, "finding");
    writeln!(human, "{kernels}, {findings} in {faulty} of them")?;
    Ok(Outcome::ChecksFailed)
}

/// The kernels that the arguments name, and the size of each. One that was named must take the
/// size; of the whole catalogue, those that do not take it are left out.
fn select(args: &Args, emulator: &EmulatorEngine) -> anyhow::Result<Vec<Admitted>> {
    let sized = args.size.or(args.m).or(args.n).or(args.k).is_some();
    let shape_for = |rung: &Rung| {
        let default = default_shape(rung);
        Shape {
            m: args.size.or(args.m).unwrap_or(default.m),
            n: args.size.or(args.n).unwrap_or(default.n),
            k: args.size.or(args.k).unwrap_or(default.k),
        }
    };
    let by_name = !args.kernels.is_empty();
    let rungs: Vec<&'static Rung> = match by_name {
        true => {
            let named = args.kernels.iter().map(|name| select::kernel(name));
            named.collect::<anyhow::Result<_>>()?
        }
        false => catalogue::rungs()
            .filter(|rung| !matches!(rung.implementation, Implementation::Cpu(_)))
            .collect(),
    };
    let mut cases = Vec::new();
    for rung in rungs {
        let shape = shape_for(rung);
        if sized && !by_name && check_shape(rung, shape).is_err() {
            continue;
        }
        cases.push(preflight(emulator, rung, shape)?);
    }
    if cases.is_empty() {
        anyhow::bail!("no kernel takes this size: `warpladder list` says what each takes");
    }
    Ok(cases)
}

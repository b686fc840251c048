//! What a launch did, as the page shows it.

use ptx_emulator::counters::{ClassCounts, Counts, Footprint, PTX_FILE, SourceLine};
use ptx_emulator::sanitize::{Finding, Severity, Tool};
use ptx_emulator::{Counters, Kernel};
use ptx_pictures::{AccessTrace, Watched};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpladder_lab::profile::{Measurement, SourceFile, listing};

/// The warp whose accesses are drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Warp {
    block: [u32; 3],
    warp: u32,
}

impl From<Warp> for Watched {
    fn from(Warp { block, warp }: Warp) -> Self {
        Watched { block, warp }
    }
}

/// What was counted of a launch.
#[derive(Debug, Serialize)]
pub(crate) struct Counted {
    total: Counts,
    footprint: Footprint,
    classes: Vec<ClassCounts>,
    /// Lanes per warp instruction, at most 32; null where nothing ran.
    average_active_lanes: Option<f64>,
    flops_per_byte_moved: Option<f64>,
    /// Lines of the PTX that were executed.
    ptx_lines: Vec<PtxLine>,
    /// Lines of the kernel's source, without their text.
    sources: Vec<SourceFile>,
    /// SVG of the accesses of one warp.
    picture: String,
}

/// A line of the PTX.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct PtxLine {
    /// From 1.
    line: u32,
    /// Its instructions, of all warps.
    warp_instructions: u64,
    /// Sectors of 32 bytes per load or store of global memory.
    sectors_per_request: Option<f64>,
    /// Passes of shared memory over those without bank conflicts.
    wavefronts_per_ideal: Option<f64>,
}

/// A finding of the sanitizers.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    tool: Tool,
    severity: Severity,
    /// The problem in words.
    problem: &'static str,
    /// All of it, in several lines.
    text: String,
    /// Lines of the PTX.
    ptx_lines: Vec<u32>,
    /// Lines of the source.
    places: Vec<SourceLine>,
}

impl From<&Finding> for Found {
    fn from(finding: &Finding) -> Self {
        let sites = || std::iter::once(&finding.first).chain(&finding.second);
        Found {
            tool: finding.tool(),
            severity: finding.severity,
            problem: finding.problem.describe(),
            text: finding.to_string(),
            ptx_lines: sites().filter_map(|site| site.ptx_line).collect(),
            places: sites()
                .filter_map(|site| site.place.clone())
                .filter(|place| place.file != PTX_FILE)
                .collect(),
        }
    }
}

/// All findings, as the page shows them.
pub(crate) fn found(findings: &[Finding]) -> Vec<Found> {
    findings.iter().map(Found::from).collect()
}

/// What counters and a trace saw of the same launch. `own` is the kernel's source file.
pub(crate) fn counted(counters: &Counters, trace: &AccessTrace, own: Option<&str>) -> Counted {
    let measurement = Measurement::from(counters);
    // Without lines of a source, those of the PTX stand in for them, which the page has anyway.
    let mut sources = listing(&measurement, own);
    sources.retain(|source| source.file != PTX_FILE);
    let kernel = counters.kernel();
    let title = kernel.map_or("nothing ran", Kernel::name);
    let [x, y, z] = trace.watched().block;
    let warp = trace.watched().warp;
    let title = format!("{title}: warp {warp} of block ({x}, {y}, {z})");
    Counted {
        ptx_lines: kernel.map_or_else(Vec::new, |kernel| ptx_lines(kernel, counters)),
        picture: ptx_pictures::accesses(trace, &title),
        sources,
        average_active_lanes: measurement.average_active_lanes,
        flops_per_byte_moved: measurement.flops_per_byte_moved,
        total: measurement.total,
        footprint: measurement.footprint,
        classes: measurement.classes,
    }
}

fn ptx_lines(kernel: &Kernel, counters: &Counters) -> Vec<PtxLine> {
    let mut lines: BTreeMap<u32, PtxLine> = BTreeMap::new();
    // A line has one instruction, but for PTX that is written so; then the last access stands.
    for (id, counts) in counters.instructions() {
        let line = kernel.instruction(id).line();
        let at = lines.entry(line).or_default();
        at.line = line;
        at.warp_instructions += counts.warp_instructions;
        let sectors = counts.global().sectors_per_request();
        at.sectors_per_request = sectors.or(at.sectors_per_request);
        let wavefronts = counts.shared().conflict_ratio();
        at.wavefronts_per_ideal = wavefronts.or(at.wavefronts_per_ideal);
    }
    lines.into_values().collect()
}

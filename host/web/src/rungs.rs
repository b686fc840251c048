//! Rungs of the catalogue: what there is, what one launches, and what it does.

use crate::engine::{Edit, Noted, PageEngine};
use crate::error::RequestError;
use crate::report::{self, Counted, Found, Warp};
use ptx_emulator::sanitize::Tool;
use ptx_emulator::{Counters, Sanitizer};
use ptx_pictures::AccessTrace;
use serde::{Deserialize, Serialize};
use warpladder::check::Verdict;
use warpladder::element::ElementType;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::PerLaunch;
use warpladder::error::EngineError;
use warpladder_lab::catalogue::{self, Family, Rung};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{self, Admitted, RunError};
use warpladder_lab::{dispatch_element, sanitize};

/// Device memory: WebAssembly addresses 4 GiB, which inputs and references share.
pub(crate) const MEMORY: u64 = 1 << 29;

/// Warp instructions after which a launch ends in an error: some minutes.
pub(crate) const BUDGET: u64 = 1 << 30;

/// Elements of an output that are shown.
const SHOWN: usize = 64;

/// A size, as the page writes it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Size {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl From<Size> for Shape {
    fn from(Size { m, n, k }: Size) -> Self {
        Shape { m, n, k }
    }
}

impl From<Shape> for Size {
    fn from(Shape { m, n, k }: Shape) -> Self {
        Size { m, n, k }
    }
}

/// A family with its rungs.
#[derive(Debug, Serialize)]
pub(crate) struct FamilyEntry {
    family: Family,
    rungs: Vec<RungEntry>,
}

#[derive(Debug, Serialize)]
struct RungEntry {
    name: &'static str,
    summary: &'static str,
    element: String,
    /// Oldest GPUs that run it.
    compute_capability: String,
    /// Which sizes it takes, in words.
    takes: String,
    /// Whether `k` of its size means anything.
    uses_k: bool,
    /// A small size that it takes.
    size: Size,
}

/// A rung at a size.
#[derive(Debug, Deserialize)]
pub(crate) struct Chosen {
    rung: String,
    size: Size,
}

/// A rung to run.
#[derive(Debug, Deserialize)]
pub(crate) struct Run {
    rung: String,
    size: Size,
    /// Draws the inputs.
    seed: u64,
    #[serde(default)]
    edits: Vec<Edit>,
    #[serde(default)]
    watched: Warp,
}

/// What a rung launches.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    launches: Vec<Noted>,
}

/// What a rung did.
#[derive(Debug, Serialize)]
pub(crate) struct Ran {
    verdict: Option<Checked>,
    /// Why a launch ended early or was refused.
    fault: Option<String>,
    launches: Vec<RanLaunch>,
    findings: Vec<Found>,
    /// The first elements of the output.
    output: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RanLaunch {
    #[serde(flatten)]
    noted: Noted,
    counted: Counted,
}

#[derive(Debug, Serialize)]
struct Checked {
    ok: bool,
    /// Largest absolute difference; null where an element is NaN.
    error: Option<f64>,
    tolerance: f64,
    complaint: Option<String>,
}

impl From<Verdict> for Checked {
    fn from(verdict: Verdict) -> Self {
        Checked {
            ok: verdict.ok,
            error: Some(verdict.error).filter(|error| error.is_finite()),
            tolerance: verdict.tolerance,
            complaint: verdict.complaint,
        }
    }
}

/// The kernels of the catalogue; products of the host's are left out.
pub(crate) fn catalogue() -> Vec<FamilyEntry> {
    let entry = |rung: &'static Rung| {
        let size = default_size(rung);
        let runs = rung.resolve(size);
        Some(RungEntry {
            name: rung.name,
            summary: rung.summary,
            element: rung.element.to_string(),
            compute_capability: runs.compute_capability()?.to_string(),
            takes: rung.precondition.describe(rung.operation),
            uses_k: rung.operation.uses_k(),
            size: size.into(),
        })
    };
    let family = |family| FamilyEntry {
        family,
        rungs: catalogue::rungs()
            .filter(|rung| rung.family == family)
            .filter_map(entry)
            .collect(),
    };
    Family::ALL.into_iter().map(family).collect()
}

/// 64 in each direction where the rung takes it.
fn default_size(rung: &Rung) -> Shape {
    let usual = Shape {
        m: 64,
        n: 64,
        k: 64,
    };
    match rung.precondition.takes(rung.operation, usual) {
        true => usual,
        false => sanitize::default_shape(rung),
    }
}

fn emulator() -> EmulatorEngine {
    EmulatorEngine::limited(BUDGET).with_memory(MEMORY)
}

fn admitted(emulator: &EmulatorEngine, rung: &str, size: Size) -> Result<Admitted, RequestError> {
    let found = catalogue::find(rung).ok_or_else(|| RequestError::NoRung(rung.to_owned()))?;
    let admitted = run::preflight(emulator, found, size.into())?;
    admitted.kernel()?;
    Ok(admitted)
}

/// The launches of a rung.
pub(crate) fn plan(chosen: &Chosen) -> Result<Planned, RequestError> {
    let emulator = emulator();
    let admitted = admitted(&emulator, &chosen.rung, chosen.size)?;
    let element = admitted.runs().element;
    let engine = PageEngine::new(&emulator, Sanitizer::new(&[]), &[]).dry();
    dispatch_element!(element, T => {
        run::launch::<T>(&engine, &admitted, &*admitted.problem(0))?;
    });
    let (_, launches) = engine.into_parts();
    Ok(Planned { launches })
}

/// Runs a rung twice: counted, with its output checked, and under the sanitizers, on memory to
/// which nothing but the inputs was written.
pub(crate) fn run(request: &Run) -> Result<Ran, RequestError> {
    let emulator = emulator();
    let admitted = admitted(&emulator, &request.rung, request.size)?;
    let element = admitted.runs().element;
    let observer = (Counters::new(), AccessTrace::new(request.watched.into()));
    let observer = PerLaunch::new(observer);
    let engine = PageEngine::new(&emulator, observer, &request.edits);
    let outcome = dispatch_element!(element, T => {
        let problem = admitted.problem::<T>(request.seed);
        let ran = run::output(&engine, &admitted, &*problem);
        ran.map(|(output, verdict)| (shown(&output), verdict))
    });
    let (mut fault, mut verdict, mut output) = (None, None, Vec::new());
    match outcome {
        Ok((elements, checked)) => {
            (output, verdict) = (elements, Some(checked.into()));
        }
        Err(RunError::Engine(error @ EngineError::Launch { .. })) => {
            fault = Some(error.to_string());
        }
        Err(error) => return Err(error.into()),
    }
    let (seen, launches) = engine.into_parts();
    let own = format!("/{}.rs", admitted.runs().name);
    let launches = launches.into_iter().zip(seen.seen);
    let launches = launches.map(|(noted, (counters, trace))| RanLaunch {
        noted,
        counted: report::counted(&counters, &trace, own_file(&counters, &own).as_deref()),
    });
    Ok(Ran {
        verdict,
        fault,
        launches: launches.collect(),
        findings: findings(&emulator, &admitted, request)?,
        output,
    })
}

/// The file of the counted lines whose path ends in `end`.
fn own_file(counters: &Counters, end: &str) -> Option<String> {
    let mut files = counters.lines().into_iter().map(|line| line.place.file);
    files.find(|file| file.ends_with(end))
}

fn findings(
    emulator: &EmulatorEngine,
    admitted: &Admitted,
    request: &Run,
) -> Result<Vec<Found>, RequestError> {
    let element = admitted.runs().element;
    let sanitizer = Sanitizer::new(&Tool::ALL);
    let engine = PageEngine::new(emulator, sanitizer, &request.edits);
    let outcome = dispatch_element!(element, T => {
        run::launch::<T>(&engine, admitted, &*admitted.problem(request.seed))
    });
    match outcome {
        // A fault is among the findings; why a launch was refused is said by the first run.
        Ok(()) | Err(RunError::Engine(EngineError::Launch { .. })) => {}
        Err(error) => return Err(error.into()),
    }
    let (sanitizer, _) = engine.into_parts();
    Ok(report::found(&sanitizer.all_findings()))
}

fn shown<T: warpladder::element::Element>(output: &[T]) -> Vec<String> {
    let show = |&element: &T| match element.into() {
        wide if T::TYPE == ElementType::F64 => wide.to_string(),
        // Exact: the type has no more digits than f32.
        wide => (wide as f32).to_string(),
    };
    output.iter().take(SHOWN).map(show).collect()
}

//! Results.

use super::{Shape, Times};
use crate::catalogue::{Family, Rung};
use crate::check::{Method, Verdict};
use crate::element::ElementType;
use crate::engine::EngineKind;

/// What one rung did on one engine: the record of `--json` and `--csv`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Record {
    /// Name of the rung.
    pub kernel: &'static str,
    /// Its family.
    pub family: Family,
    /// The source documents that it is from, by number.
    pub source: &'static str,
    /// Element type.
    pub element: ElementType,
    /// Rows of a product's output, or of a transpose's input. One-dimensional problems have m · n elements.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over, or 16 times the rounds of the FMA chains; null elsewhere.
    pub k: Option<u32>,
    /// The rung that ran, where the kernel only chooses one; null elsewhere.
    pub ran: Option<&'static str>,
    /// Engine that ran it.
    pub engine: EngineKind,
    /// The device's name.
    pub device: String,
    /// Whether the output was right.
    pub ok: bool,
    /// How the output was checked; null where the kernel failed before it had one.
    pub check: Option<Method>,
    /// Largest absolute difference from the reference; null where an element is NaN or there is no output.
    pub error: Option<f64>,
    /// Largest difference that passes.
    pub tolerance: Option<f64>,
    /// Number of timed runs.
    pub samples: usize,
    /// Median time of the kernel alone, in milliseconds.
    pub median_ms: Option<f64>,
    /// Fastest run, in milliseconds.
    pub min_ms: Option<f64>,
    /// Slowest run, in milliseconds.
    pub max_ms: Option<f64>,
    /// Standard deviation in percent of the mean.
    pub noise_pct: Option<f64>,
    /// 10⁹ floating-point operations per second at the median; null where there are none.
    pub gflops: Option<f64>,
    /// Effective bandwidth at the median: 10⁹ bytes per second, every input read once, the output written once.
    pub gbs: Option<f64>,
    /// Inputs to the device, kernel, output back: wall-clock time in milliseconds, median of 3 runs.
    pub host_to_host_ms: Option<f64>,
    /// Time of one of as many launches in a row as there were samples, in milliseconds: source 003's "outer time".
    /// Null on the CPU.
    pub outer_ms: Option<f64>,
    /// Time of one of 10 repetitions inside of the kernel, in milliseconds: source 003's "inner time". Null where the
    /// kernel has no such loop.
    pub inner_ms: Option<f64>,
    /// What was wrong, as one line; null where nothing was.
    pub complaint: Option<String>,
}

impl Record {
    /// The record of a rung that has not run yet.
    pub(super) fn new(rung: &Rung, shape: Shape, engine: EngineKind, device: &str) -> Self {
        Record {
            kernel: rung.name,
            family: rung.family,
            source: rung.source,
            element: rung.element,
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            ran: None,
            engine,
            device: device.to_owned(),
            ok: false,
            check: None,
            error: None,
            tolerance: None,
            samples: 0,
            median_ms: None,
            min_ms: None,
            max_ms: None,
            noise_pct: None,
            gflops: None,
            gbs: None,
            host_to_host_ms: None,
            outer_ms: None,
            inner_ms: None,
            complaint: None,
        }
    }

    /// Adds what the check said.
    pub(super) fn checked(&mut self, verdict: Verdict) {
        self.ok = verdict.ok;
        self.check = Some(verdict.method);
        self.error = Some(verdict.error).filter(|error| error.is_finite());
        self.tolerance = Some(verdict.tolerance);
        self.complaint = verdict.complaint;
    }

    /// Adds times and what follows from them.
    pub(super) fn timed(&mut self, rung: &Rung, shape: Shape, times: Times) {
        let per_second = |count: f64| count / (times.kernel.median * 1e-3) * 1e-9;
        let flops = rung.operation.flops(shape);
        let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
        self.samples = times.kernel.samples;
        self.median_ms = Some(times.kernel.median);
        self.min_ms = Some(times.kernel.min);
        self.max_ms = Some(times.kernel.max);
        self.noise_pct = Some(times.kernel.noise_pct);
        self.gflops = (flops > 0.0).then(|| per_second(flops));
        self.gbs = Some(per_second(bytes));
        self.host_to_host_ms = times.host_to_host_ms;
        self.outer_ms = times.outer_ms;
        self.inner_ms = times.inner_ms;
    }
}

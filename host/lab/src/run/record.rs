//! Results.

use super::{Cache, Shape, Stop, Times};
use crate::catalogue::{Family, Rung};
use warpladder::check::{Method, Verdict};
use warpladder::device::{DeviceState, ThrottleReason};
use warpladder::element::ElementType;
use warpladder::engine::EngineKind;
use warpladder::timing::{Quartiles, Summary};

/// Version of the fields of a record. Fields may be added to a version; one that changes its
/// meaning or goes makes a new one. Version 1 had neither a number nor single times.
pub const SCHEMA: u32 = 2;

/// What one rung did on one engine: the record of `--json` and `--csv`, see docs/results.md. The
/// baseline and the report read it back.
///
/// Fields that came later than others are null in older files.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Version of these fields: [`SCHEMA`]; 1 in files without it.
    #[serde(default = "first_schema")]
    pub schema: u32,
    /// Name of the rung.
    pub kernel: String,
    /// Its family.
    pub family: Family,
    /// The source documents that it is from, by number.
    pub source: String,
    /// Element type.
    pub element: ElementType,
    /// Rows of a product's output, or of a transpose's input. One-dimensional problems have m · n
    /// elements.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over, or 16 times the rounds of the FMA chains; null
    /// elsewhere.
    pub k: Option<u32>,
    /// The rung that ran, where the kernel only chooses one; null elsewhere.
    pub ran: Option<String>,
    /// Engine that ran it.
    pub engine: EngineKind,
    /// The device's name.
    pub device: String,
    /// Whether the output was right.
    pub ok: bool,
    /// How the output was checked; null where the kernel failed before it had one.
    pub check: Option<Method>,
    /// Largest absolute difference from the reference; null where an element is NaN or there is no
    /// output.
    pub error: Option<f64>,
    /// Largest difference that passes.
    pub tolerance: Option<f64>,
    /// What the caches held when a sample began; null where the engine has none.
    pub cache: Option<Cache>,
    /// Number of timed runs.
    pub samples: usize,
    /// Why there are no more of them; null where there are none.
    pub stopped: Option<Stop>,
    /// Median time of the kernel alone, in milliseconds.
    pub median_ms: Option<f64>,
    /// Lower quartile, in milliseconds.
    pub low_ms: Option<f64>,
    /// Upper quartile, in milliseconds.
    pub high_ms: Option<f64>,
    /// Fastest run, in milliseconds.
    pub min_ms: Option<f64>,
    /// Slowest run, in milliseconds.
    pub max_ms: Option<f64>,
    /// Standard deviation in percent of the mean.
    pub noise_pct: Option<f64>,
    /// 10⁹ floating-point operations per second at the median; null where there are none.
    pub gflops: Option<f64>,
    /// Effective bandwidth at the median: 10⁹ bytes per second, every input read once, the output
    /// written once.
    pub gbs: Option<f64>,
    /// Inputs to the device, kernel, output back: wall-clock time in milliseconds, median of 3
    /// runs.
    pub host_to_host_ms: Option<f64>,
    /// Time of one of as many launches in a row as there were samples, in milliseconds: source
    /// 003's "outer time". Null on the CPU.
    pub outer_ms: Option<f64>,
    /// Time of one of 10 repetitions inside of a kernel, in milliseconds: source 003's "inner
    /// time". Null where there is no kernel that repeats this one's work.
    pub inner_ms: Option<f64>,
    /// Version of the driver; this and what follows are the device's state right after the last
    /// sample, from NVIDIA's management library, and null where that does not tell.
    pub driver: Option<String>,
    /// Clock of the multiprocessors, in MHz.
    pub clock_mhz: Option<u32>,
    /// Clock of the memory, in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Temperature, in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Power drawn, in watts.
    pub power_w: Option<f64>,
    /// Power limit in force, in watts.
    pub power_limit_w: Option<f64>,
    /// What held the clocks down while samples were taken, separated by spaces; "none" where
    /// nothing was seen to.
    pub throttled: Option<String>,
    /// What was wrong, as one line; null where nothing was.
    pub complaint: Option<String>,
    /// The samples, in milliseconds, in the order in which they were taken. They are written to
    /// JSON alone: see [`Detailed`].
    #[serde(default, skip_serializing)]
    pub times_ms: Vec<f64>,
}

const fn first_schema() -> u32 {
    1
}

/// A record with what does not fit a table: an element of `--json`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Detailed<'a, C> {
    #[serde(flatten)]
    record: &'a Record,
    times_ms: &'a [f64],
    /// How it compares with a saved run; null without one.
    baseline: Option<C>,
}

impl<'a, C> Detailed<'a, C> {
    /// A record, its samples, and how it compares with a saved run.
    pub fn new(record: &'a Record, baseline: Option<C>) -> Self {
        Detailed {
            record,
            times_ms: &record.times_ms,
            baseline,
        }
    }
}

/// What the device says holds its clocks down now, and what its counters say has done so in
/// between.
fn throttled(before: Option<&DeviceState>, after: &DeviceState) -> Option<String> {
    let mut reasons = after.throttle_reasons.clone()?;
    // An idle device is not held down.
    reasons.retain(|&reason| reason != ThrottleReason::Idle);
    let before = before.map(|state| state.held_down).unwrap_or_default();
    for (before, after, reason) in [
        (
            before.power_ns,
            after.held_down.power_ns,
            ThrottleReason::PowerCap,
        ),
        (
            before.thermal_ns,
            after.held_down.thermal_ns,
            ThrottleReason::SoftwareThermal,
        ),
    ] {
        let grew = before.zip(after).is_some_and(|(old, new)| new > old);
        if grew && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let names: Vec<&str> = reasons.iter().map(|reason| reason.name()).collect();
    Some(match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(" "),
    })
}

impl Record {
    /// The record of a rung that has not run yet.
    pub(super) fn new(rung: &Rung, shape: Shape, engine: EngineKind, device: &str) -> Self {
        Record {
            schema: SCHEMA,
            kernel: rung.name.to_owned(),
            family: rung.family,
            source: rung.source.to_owned(),
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
            cache: None,
            samples: 0,
            stopped: None,
            median_ms: None,
            low_ms: None,
            high_ms: None,
            min_ms: None,
            max_ms: None,
            noise_pct: None,
            gflops: None,
            gbs: None,
            host_to_host_ms: None,
            outer_ms: None,
            inner_ms: None,
            driver: None,
            clock_mhz: None,
            memory_clock_mhz: None,
            temperature_c: None,
            power_w: None,
            power_limit_w: None,
            throttled: None,
            complaint: None,
            times_ms: Vec::new(),
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

    /// Adds the device's state after the last sample, and what it says beside that before the
    /// first.
    pub(super) fn observed(&mut self, before: Option<&DeviceState>, after: &DeviceState) {
        self.driver = after.driver_version.clone();
        self.clock_mhz = after.clock_mhz;
        self.memory_clock_mhz = after.memory_clock_mhz;
        self.temperature_c = after.temperature_c;
        self.power_w = after.power_w;
        self.power_limit_w = after.power_limit_w;
        self.throttled = throttled(before, after);
    }

    /// Adds times and what follows from them.
    pub(super) fn timed(&mut self, rung: &Rung, shape: Shape, times: Times) {
        let (Some(summary), Some(quartiles)) =
            (Summary::of(&times.kernel), Quartiles::of(&times.kernel))
        else {
            return;
        };
        let per_second = |count: f64| count / (summary.median * 1e-3) * 1e-9;
        let flops = rung.operation.flops(shape);
        let bytes = rung.operation.elements_moved(shape) * rung.element.bytes() as f64;
        self.cache = times.cache;
        self.samples = summary.samples;
        self.stopped = Some(times.stop);
        self.median_ms = Some(summary.median);
        self.low_ms = Some(quartiles.low);
        self.high_ms = Some(quartiles.high);
        self.min_ms = Some(summary.min);
        self.max_ms = Some(summary.max);
        self.noise_pct = Some(summary.noise_pct);
        self.gflops = (flops > 0.0).then(|| per_second(flops));
        self.gbs = Some(per_second(bytes));
        self.host_to_host_ms = times.host_to_host_ms;
        self.outer_ms = times.outer_ms;
        self.inner_ms = times.inner_ms;
        self.times_ms = times.kernel;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::device::HeldDown;

    #[test]
    fn throttling_is_what_is_in_force_and_what_the_counters_saw() {
        let state = |reasons: &[ThrottleReason], power_ns| DeviceState {
            throttle_reasons: Some(reasons.to_vec()),
            held_down: HeldDown {
                power_ns: Some(power_ns),
                thermal_ns: None,
            },
            ..DeviceState::default()
        };
        let cold = state(&[ThrottleReason::Idle], 7);
        let hot = state(&[ThrottleReason::SoftwareThermal], 9);
        let seen = |before, after| throttled(Some(before), after).unwrap();
        assert_eq!(seen(&cold, &cold), "none");
        assert_eq!(seen(&cold, &hot), "software_thermal power_cap");
        assert_eq!(throttled(None, &hot).unwrap(), "software_thermal");
        assert_eq!(throttled(None, &DeviceState::default()), None);
    }
}

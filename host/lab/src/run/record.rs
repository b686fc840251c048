//! Results.

use super::{Cache, Shape, Stop, Times};
use crate::catalogue::{Family, Rung};
use warpladder::check::{Method, Verdict};
use warpladder::device::{ComputeCapability, DeviceState, ThrottleReason};
use warpladder::element::ElementType;
use warpladder::engine::EngineKind;
use warpladder::timing::{Quartiles, Summary};
use warpladder_models::Bound;

pub use crate::results::SCHEMA;

/// The first version in which times of the emulator have fields of their own.
const SCHEMA_OF_EMULATOR_TIMES: u32 = 3;

/// What one rung did on one engine: the record of `--json` and `--csv`, see docs/results.md. The
/// baseline and the report read it back, by [`read_records`].
///
/// Times, rates and the share of the roof are those of a device that was measured. What the
/// emulator itself took is in [`emulator_ms`](Self::emulator_ms) alone, and what the model says of
/// a GPU in the fields `predicted_…`.
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
    /// The generation of GPUs whose kernels ran, as 10 times the major and the minor number of its
    /// compute capability; null where none was asked for.
    pub generation: Option<ComputeCapability>,
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
    /// Median time of the kernel alone, in milliseconds; this and what follows up to `inner_ms` are
    /// null on the emulator.
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
    /// The least time that the GPU's peaks allow for this problem, in percent of the median; null
    /// where nothing was measured on a GPU, or its peaks are not known.
    pub roof_pct: Option<f64>,
    /// Median of what the emulator took to emulate the kernel, in milliseconds: a time of the CPU,
    /// which says nothing of a GPU. Null on other engines.
    pub emulator_ms: Option<f64>,
    /// The GPU of the prediction; this and what follows are null where nothing was predicted.
    pub predicted_device: Option<String>,
    /// Rows of the predicted problem, which may be larger than the one that was run.
    pub predicted_m: Option<u32>,
    /// Its columns.
    pub predicted_n: Option<u32>,
    /// Its third dimension; null where there is none.
    pub predicted_k: Option<u32>,
    /// Predicted time on that GPU, in milliseconds.
    pub predicted_ms: Option<f64>,
    /// 10⁹ floating-point operations per second in that time; null where there are none.
    pub predicted_gflops: Option<f64>,
    /// 10⁹ bytes per second in that time: every input read once, the output written once.
    pub predicted_gbs: Option<f64>,
    /// What takes longest of it.
    pub predicted_bound: Option<Bound>,
    /// The least time that the GPU's peaks allow for this problem, in percent of the predicted one.
    pub predicted_roof_pct: Option<f64>,
    /// The samples, in milliseconds, in the order in which they were taken. They are written to
    /// JSON alone: see [`Detailed`].
    #[serde(default, skip_serializing)]
    pub times_ms: Vec<f64>,
    /// The same of the emulator.
    #[serde(default, skip_serializing)]
    pub emulator_times_ms: Vec<f64>,
}

/// What a model says of a kernel on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The GPU.
    pub device: String,
    /// The size that is predicted.
    pub shape: Shape,
    /// The time, in milliseconds.
    pub ms: f64,
    /// 10⁹ floating-point operations per second; `None` where there are none.
    pub gflops: Option<f64>,
    /// 10⁹ bytes per second: every input read once, the output written once.
    pub gbs: f64,
    /// What takes longest.
    pub bound: Bound,
    /// The least time that the GPU's peaks allow, in percent of the predicted one.
    pub roof_pct: Option<f64>,
    /// What the GPU has no known rate for: the time is without it, and so the least.
    pub unknown: Vec<Bound>,
    /// Whether the time has what a launch costs, which is known of calibrated GPUs.
    pub has_launch: bool,
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
    emulator_times_ms: &'a [f64],
    step: Option<&'a Step>,
}

/// A step of a ladder: a kernel beside the one before it that computes the same at the same size.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    /// The kernel before.
    pub over: String,
    /// How many times as fast, by the measured times, or else by the predicted ones.
    pub times: f64,
    /// What the counters say changed; null where they do not explain it.
    pub why: Option<String>,
}

impl<'a, C> Detailed<'a, C> {
    /// A record, its samples, how it compares with a saved run, and its step of the ladder.
    pub fn new(record: &'a Record, baseline: Option<C>, step: Option<&'a Step>) -> Self {
        Detailed {
            record,
            times_ms: &record.times_ms,
            baseline,
            emulator_times_ms: &record.emulator_times_ms,
            step,
        }
    }
}

/// The records of a file that `run --json` wrote, of any version. What the emulator took was in
/// `median_ms` and `times_ms` before version 3: it is where it belongs in what is returned.
///
/// # Errors
/// Those of [`crate::results::read`].
pub fn read_records(text: &str) -> Result<Vec<Record>, serde_json::Error> {
    let records: Vec<Record> = crate::results::read(text)?;
    Ok(records.into_iter().map(Record::up_to_date).collect())
}

impl Record {
    /// A record as it would be written now: what the emulator took is no time of a device.
    pub fn up_to_date(mut self) -> Self {
        if self.schema < SCHEMA_OF_EMULATOR_TIMES && self.engine == EngineKind::Emulator {
            self.emulator_ms = self.median_ms.take();
            self.emulator_times_ms = std::mem::take(&mut self.times_ms);
            (self.low_ms, self.high_ms) = (None, None);
            (self.min_ms, self.max_ms, self.noise_pct) = (None, None, None);
            (self.gflops, self.gbs, self.host_to_host_ms) = (None, None, None);
            (self.outer_ms, self.inner_ms) = (None, None);
        }
        self
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
            generation: None,
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
            roof_pct: None,
            emulator_ms: None,
            predicted_device: None,
            predicted_m: None,
            predicted_n: None,
            predicted_k: None,
            predicted_ms: None,
            predicted_gflops: None,
            predicted_gbs: None,
            predicted_bound: None,
            predicted_roof_pct: None,
            times_ms: Vec::new(),
            emulator_times_ms: Vec::new(),
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

    /// Adds what a model says of it.
    pub fn predicted(&mut self, predicted: Predicted) {
        let Shape { m, n, k } = predicted.shape;
        self.predicted_device = Some(predicted.device);
        (self.predicted_m, self.predicted_n) = (Some(m), Some(n));
        self.predicted_k = self.k.map(|_| k);
        self.predicted_ms = Some(predicted.ms);
        self.predicted_gflops = predicted.gflops;
        self.predicted_gbs = Some(predicted.gbs);
        self.predicted_bound = Some(predicted.bound);
        self.predicted_roof_pct = predicted.roof_pct;
    }

    /// The samples of whatever engine it ran on, in milliseconds.
    pub fn samples_ms(&self) -> &[f64] {
        match self.engine {
            EngineKind::Emulator => &self.emulator_times_ms,
            EngineKind::Gpu | EngineKind::Cpu => &self.times_ms,
        }
    }

    /// The median of whatever engine it ran on, in milliseconds.
    pub fn own_median_ms(&self) -> Option<f64> {
        self.median_ms.or(self.emulator_ms)
    }

    /// The time by which kernels are ranked, in milliseconds: what a device took, else what the
    /// model predicts, and never what the emulator took.
    pub fn ranked_ms(&self) -> Option<f64> {
        self.median_ms.or(self.predicted_ms)
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
        if self.engine == EngineKind::Emulator {
            self.emulator_ms = Some(summary.median);
            self.emulator_times_ms = times.kernel;
            return;
        }
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

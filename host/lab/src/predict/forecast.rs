//! What a prediction is, and why there may be none.

use super::roof_pct;
use crate::catalogue::Rung;
use crate::problem::Shape;
use crate::run::{Predicted, RunError};
use warpladder::device::ComputeCapability;
use warpladder::error::EngineError;
use warpladder_models::Bound;
use warpladder_models::devices::DeviceModel;
use warpladder_models::occupancy::Launch;
use warpladder_models::predict::{PredictError, Prediction, Work};

/// A predicted rung.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The rung.
    pub rung: &'static Rung,
    /// The size.
    pub shape: Shape,
    /// Its launches, one after the other: at least one.
    pub launches: Vec<LaunchForecast>,
}

/// A predicted launch.
#[derive(Clone, Debug)]
pub struct LaunchForecast {
    /// The PTX entry.
    pub entry: &'static str,
    /// What a multiprocessor is asked for.
    pub launch: Launch,
    /// What the launch does.
    pub work: Work,
    /// How long it takes, and why.
    pub prediction: Prediction,
}

impl Forecast {
    /// 10⁹ floating-point operations per second; `None` where there are none.
    pub fn gflops(&self) -> Option<f64> {
        let flops = self.rung.operation.flops(self.shape);
        (flops > 0.0).then(|| flops / self.seconds() / 1e9)
    }

    /// 10⁹ bytes per second: every input read once, the output written once.
    pub fn gbs(&self) -> f64 {
        let elements = self.rung.operation.elements_moved(self.shape);
        elements * self.rung.element.bytes() as f64 / self.seconds() / 1e9
    }

    /// How long all launches take, in seconds.
    pub fn seconds(&self) -> f64 {
        let launches = self.launches.iter();
        launches.map(|launch| launch.prediction.seconds).sum()
    }

    /// What of it stands in a record.
    pub fn predicted(&self, device: &DeviceModel) -> Predicted {
        let ms = self.seconds() * 1e3;
        Predicted {
            device: device.name.to_string(),
            shape: self.shape,
            ms,
            gflops: self.gflops(),
            gbs: self.gbs(),
            bound: self.longest().prediction.bound,
            roof_pct: roof_pct(device, self.rung, self.shape, ms),
            unknown: self.unknown(),
            has_launch: device.calibration.launch_us.is_some(),
        }
    }

    /// What the device has no known rate for: times are without it, and so the least.
    pub fn unknown(&self) -> Vec<Bound> {
        let mut unknown = Vec::new();
        for bound in self.launches.iter().flat_map(|of| &of.prediction.unknown) {
            if !unknown.contains(bound) {
                unknown.push(*bound);
            }
        }
        unknown
    }

    /// The launch that takes longest.
    pub fn longest(&self) -> &LaunchForecast {
        let seconds = |launch: &&LaunchForecast| launch.prediction.seconds;
        let longest = self
            .launches
            .iter()
            .max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        longest.expect("a forecast has at least one launch")
    }
}

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForecastError {
    /// There is nothing to launch.
    #[error("{0} has nothing to compute at this size: use a larger one")]
    Nothing(&'static str),
    /// The device cannot run it.
    #[error(
        "{rung} cannot run on {device} (compute capability {has}): {reason}: {}",
        match .instead {
            Some(other) => format!("take {other}, which can"),
            None => "predict another device".to_owned(),
        }
    )]
    CannotRun {
        /// Name of the rung.
        rung: &'static str,
        /// The device.
        device: String,
        /// Its compute capability.
        has: ComputeCapability,
        /// What it lacks.
        reason: String,
        /// The nearest rung that it can run.
        instead: Option<&'static str>,
    },
    /// Its counts cannot be found by small runs.
    #[error(
        "{0} chooses kernels for this size that it chooses for no small one: predict another size \
         or device"
    )]
    ChosenAtNoSmallSize(&'static str),
    /// Its registers are not in the table.
    #[error("the registers of {0} are not known: run .ci/registers > ptx/registers.csv")]
    NoRegisters(&'static str),
    /// It cannot run at the sizes at which it is counted.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The emulator refuses it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The models have no time for it on this device.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

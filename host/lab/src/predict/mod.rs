//! How long a rung should take: the models of [`model`](warpladder_models), fed with what the
//! emulator counts.

mod chain;
mod constants;
mod counts;
mod device;
mod fingerprint;
mod forecast;
mod operands;
mod requirement;
mod roof;
mod stores;
mod traffic;
mod work;

pub use chain::{Chain, Cycles};
pub use counts::{Counts, Strided};
pub use device::{cycles, device_of};
pub use fingerprint::fingerprint;
pub use forecast::{Forecast, ForecastError, LaunchForecast};
pub use requirement::is_older_than_the_ptx;
pub use roof::{least_seconds, roof_pct};
pub use stores::{Sectors, Stored};
pub use traffic::Traffic;

use crate::catalogue::{PlanRequest, Rung};
use crate::problem::Shape;
use crate::run::{Admitted, RunError, check_generation, check_shape, preflight_elsewhere};
use device::registers;
use warpladder::device::ComputeCapability;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::gemm::DeviceLimits;
use warpladder::plan::PlannedLaunch;
use warpladder::ptx;
use warpladder_models::devices::DeviceModel;
use warpladder_models::occupancy::Launch;
use warpladder_models::predict;
use work::work;

/// Predicts one run of a rung on a device, whose caches hold what fits of the launch before.
///
/// # Errors
/// See [`ForecastError`].
pub fn forecast(
    emulator: &EmulatorEngine,
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Forecast, ForecastError> {
    forecast_with(emulator, device, rung, shape, None, seed)
}

/// The same with the kernels of an older generation of GPUs than the device, see
/// [`Variant::generation`](crate::run::Variant::generation).
///
/// # Errors
/// See [`ForecastError`].
pub fn forecast_with(
    emulator: &EmulatorEngine,
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
    generation: Option<ComputeCapability>,
    seed: u64,
) -> Result<Forecast, ForecastError> {
    let admitted = admitted(device, rung, shape, generation)?;
    let runs = admitted.runs();
    let planned = &admitted.planned()?.1.launches;
    let counts = counts::at(&admitted, cycles(device), seed)?;
    let mut launches = Vec::new();
    for (planned, counts) in planned.iter().zip(&counts) {
        let launch = launch(emulator, device, planned)?;
        let mut next = predicted(device, runs, shape, planned.entry, launch, counts)?;
        if !launches.is_empty() {
            next.prediction = next.prediction.behind_another(device);
        }
        launches.push(next);
    }
    Ok(Forecast {
        rung,
        shape,
        launches,
    })
}

/// Whether a rung can be predicted, as far as that shows before anything is counted.
///
/// # Errors
/// Those of [`forecast`] that need no counting.
pub fn check_forecast(
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
    generation: Option<ComputeCapability>,
) -> Result<(), ForecastError> {
    admitted(device, rung, shape, generation).map(drop)
}

/// The limits of a device that is predicted with the kernels of a generation, or with its own.
///
/// # Errors
/// [`RunError::Plan`] where it does not run those kernels.
pub fn limits(
    device: &DeviceModel,
    generation: Option<ComputeCapability>,
) -> Result<DeviceLimits, RunError> {
    let own = device.architecture.compute_capability.into();
    let clusters = device.calibration.active_clusters;
    let limits = DeviceLimits::new(device.multiprocessors.value, own)
        .with_active_clusters(clusters.map(|clusters| clusters.value));
    Ok(limits.with_generation(generation)?)
}

fn admitted(
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
    generation: Option<ComputeCapability>,
) -> Result<Admitted, ForecastError> {
    check_shape(rung, shape)?;
    requirement::check(device, rung, shape)?;
    check_generation(rung, shape, generation)?;
    let admitted = preflight_for(limits(device, generation)?, rung, shape)?;
    let mut launches = admitted.planned()?.1.launches.iter();
    if launches.all(|launch| launch.grid.contains(&0)) {
        return Err(ForecastError::Nothing(rung.name));
    }
    Ok(admitted)
}

/// The launches of a rung on a device that is described, not there.
fn preflight_for(
    device: DeviceLimits,
    rung: &'static Rung,
    shape: Shape,
) -> Result<Admitted, RunError> {
    let request = PlanRequest {
        operation: rung.operation,
        shape,
        device,
        transposed: [false; 2],
    };
    preflight_elsewhere(rung, &request)
}

fn predicted(
    device: &DeviceModel,
    rung: &Rung,
    shape: Shape,
    entry: &'static str,
    launch: Launch,
    counts: &Counts,
) -> Result<LaunchForecast, ForecastError> {
    let work = work(device, rung, shape, &launch, counts)?;
    Ok(LaunchForecast {
        entry,
        launch,
        work,
        prediction: predict::predict(device, &launch, &work)?,
    })
}

/// Predicts a grid-stride loop that is launched with other blocks than its own geometry's.
///
/// # Errors
/// See [`ForecastError`].
pub fn forecast_strided(
    device: &DeviceModel,
    rung: &'static Rung,
    shape: Shape,
    strided: &Strided,
    [blocks, threads]: [u32; 2],
) -> Result<Forecast, ForecastError> {
    requirement::check(device, rung, shape)?;
    let launch = Launch {
        blocks: blocks.into(),
        threads_per_block: threads,
        registers_per_thread: registers(device, rung.name)?,
        shared_bytes_per_block: 0,
    };
    let counts = strided.at(shape, u64::from(blocks) * u64::from(threads));
    Ok(Forecast {
        rung,
        shape,
        launches: vec![predicted(device, rung, shape, rung.name, launch, &counts)?],
    })
}

fn launch(
    emulator: &EmulatorEngine,
    device: &DeviceModel,
    planned: &PlannedLaunch,
) -> Result<Launch, ForecastError> {
    let entry = planned.entry;
    let text = ptx::module(planned.compute_capability).only(entry);
    let kernel = emulator.load(&text, entry)?;
    Ok(Launch {
        blocks: planned.grid.iter().product(),
        threads_per_block: planned.block.count() as u32,
        registers_per_thread: registers(device, entry)?,
        shared_bytes_per_block: emulator.static_shared_bytes(kernel) + planned.shared_bytes,
    })
}

#[cfg(test)]
mod tests;

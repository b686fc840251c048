//! Tables of what kernels should take, by the models, fed with what the emulator counts.

use super::table;
use rayon::prelude::*;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue;
use warpladder_lab::predict::{Forecast, forecast};
use warpladder_lab::problem::Shape;
use warpladder_lab::run::describe;
use warpladder_models::devices;
use warpladder_report::numbers::significant;

/// Seed of the inputs.
const SEED: u64 = 1;

/// The GPU whose times are predicted.
const DEVICE: &str = "H200";

/// Predictions of kernels at a size, one below the other.
pub fn predicted(kernels: &[&str], shape: Shape) -> String {
    let device = devices::find(DEVICE).expect("a known GPU");
    let forecasts: Vec<Forecast> = kernels
        .par_iter()
        .map(|name| {
            let rung = catalogue::find(name).unwrap_or_else(|| panic!("no kernel {name}"));
            let forecast = forecast(&EmulatorEngine::new(), device, rung, shape, SEED);
            forecast.unwrap_or_else(|error| panic!("{name}: {error}"))
        })
        .collect();
    let is_bound_by_arithmetic = forecasts[0].rung.operation.uses_k();
    let unit = match is_bound_by_arithmetic {
        true => "GFLOP/s",
        false => "GB/s",
    };
    let head = ["kernel", "launches", "ms, predicted", unit, "bound"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut with_atomics = false;
    for forecast in &forecasts {
        let rate = match is_bound_by_arithmetic {
            true => forecast.gflops().expect("there is arithmetic"),
            false => forecast.gbs(),
        };
        // A time without the atomics is a lower bound, of which there is no rate.
        let is_least = !forecast.unknown().is_empty();
        with_atomics |= is_least;
        let [least, most] = if is_least {
            ["at least ", "at most "]
        } else {
            [""; 2]
        };
        rows.push(vec![
            format!("`{}`", forecast.rung.name),
            forecast.launches.len().to_string(),
            format!("{least}{}", significant(forecast.seconds() * 1e3)),
            format!("{most}{}", significant(rate)),
            forecast.longest().prediction.bound.to_string(),
        ]);
    }
    let operation = forecasts[0].rung.operation;
    let atomics = match with_atomics {
        true => " How long atomics take is not known: times are without them.",
        false => "",
    };
    format!(
        "{}\nPredicted for an {DEVICE} at {}, not measured.{atomics}\n",
        table(&rows),
        describe(operation, shape)
    )
}

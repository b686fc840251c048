//! How long work takes: estimated before it starts, and said where that is long.

use super::{output, select};
use std::io::Write;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Instant;
use warpladder::engine::Engine;
use warpladder_lab::catalogue::Rung;
use warpladder_lab::predict;
use warpladder_lab::problem::Shape;
use warpladder_lab::run::{Problems, preflight};
use warpladder_models::devices::DeviceModel;

/// Where it takes longer than this, in seconds, that is said before.
pub(super) const SAID_FROM: f64 = 60.0;

/// Estimates above this, in seconds, are made more precise by a small run of the kernel.
pub(super) const ROUGH_SECONDS: f64 = 2.0;

/// How many times as long as the simplest kernel others take for a multiply-add, as a rule.
const OTHERS: f64 = 4.0;

/// Times of an emulated run that counting takes for a prediction, and the extents of a problem that
/// is as much work as all that are counted for it.
const COUNTING: f64 = 40.0;
const COUNTED: u32 = 384;

/// Extents of a small run: of a product, and of what has no third dimension.
const SAMPLES: [u32; 2] = [128, 1024];

/// Share of its roof that a kernel on a GPU reaches at least, but for the first ones of a ladder.
const GPU_SHARE: f64 = 0.05;

/// Says how long it will take, where that is long, and what to do about it.
pub(super) fn announce(seconds: f64, advice: &str) -> anyhow::Result<()> {
    if seconds > SAID_FROM {
        let about = about(seconds);
        writeln!(output::stderr(), "this takes about {about}: {advice}")?;
    }
    Ok(())
}

/// A duration in words that are as precise as an estimate: "40 s", "3 min", "5 h".
pub(super) fn about(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{:.0} s", seconds.ceil()),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.0} h", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// Seconds of a launch on a GPU, at the share of its roof that most kernels reach; 0 where the
/// models do not say.
pub(super) fn on_gpu(device: &DeviceModel, rung: &Rung, shape: Shape) -> f64 {
    predict::least_seconds(device, rung, shape).unwrap_or_default() / GPU_SHARE
}

/// How fast the emulator is on this machine, in this build.
pub(super) struct EmulatorSpeed<'e> {
    engine: &'e dyn Engine,
    seed: u64,
    /// Seconds of a multiply-add of the simplest kernel.
    rate: f64,
}

impl<'e> EmulatorSpeed<'e> {
    /// Measures it, by a run of some milliseconds.
    pub(super) fn measure(engine: &'e dyn Engine, seed: u64) -> anyhow::Result<Self> {
        const EXTENT: u32 = 96;
        let simplest = select::kernel("naive")?;
        let shape = Shape {
            m: EXTENT,
            n: EXTENT,
            k: EXTENT,
        };
        let mut speed = EmulatorSpeed {
            engine,
            seed,
            rate: 0.0,
        };
        speed.rate = speed.run_once(simplest, shape)? / work(simplest, shape);
        Ok(speed)
    }

    /// Seconds of `runs` runs of a kernel. What seems to take long is run once at a small size.
    pub(super) fn runs(
        &self,
        rung: &'static Rung,
        shape: Shape,
        runs: usize,
    ) -> anyhow::Result<f64> {
        let runs = runs as f64;
        let rough = OTHERS * self.rate * runs * work(rung, shape);
        if rough <= ROUGH_SECONDS {
            return Ok(rough);
        }
        let [product, flat] = SAMPLES;
        let most = match rung.operation.uses_k() {
            true => product,
            false => flat,
        };
        let small = rung
            .precondition
            .round_up(rung.operation, at_most(shape, most));
        let took = self.run_once(rung, small)?;
        Ok(took * runs * work(rung, shape) / work(rung, small))
    }

    /// Seconds of a prediction, for which blocks of several sizes are counted.
    pub(super) fn prediction(&self, rung: &Rung, shape: Shape) -> f64 {
        COUNTING * self.rate * work(rung, at_most(shape, COUNTED))
    }

    /// Seconds of several predictions, made at the same time on all cores.
    pub(super) fn predictions_by_all_cores(
        &self,
        of: impl Iterator<Item = (&'static Rung, Shape)>,
    ) -> f64 {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let seconds: f64 = of.map(|(rung, shape)| self.prediction(rung, shape)).sum();
        seconds / cores as f64
    }

    /// Seconds of one run.
    fn run_once(&self, rung: &'static Rung, shape: Shape) -> anyhow::Result<f64> {
        let admitted = preflight(self.engine, rung, shape)?;
        let start = Instant::now();
        let record = Problems::new(self.seed).run(self.engine, &admitted, 1)?;
        let checked_and_timed = start.elapsed().as_secs_f64() / 2.0;
        Ok(record
            .own_median_ms()
            .map_or(checked_and_timed, |ms| ms / 1e3))
    }
}

/// Multiply-adds of a problem, or elements that it moves.
fn work(rung: &Rung, shape: Shape) -> f64 {
    let flops = rung.operation.flops(shape) / 2.0;
    flops.max(rung.operation.elements_moved(shape)).max(1.0)
}

fn at_most(shape: Shape, most: u32) -> Shape {
    let Shape { m, n, k } = shape;
    let [m, n, k] = [m, n, k].map(|extent| extent.min(most));
    Shape { m, n, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_precise_as_estimates() {
        for (seconds, words) in [
            (0.2, "1 s"),
            (61.0, "61 s"),
            (120.0, "2 min"),
            (7200.0, "2 h"),
            (864_000.0, "10 days"),
        ] {
            assert_eq!(about(seconds), words);
        }
    }
}

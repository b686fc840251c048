//! How long a rung should take: the models of [`model`](crate::model), fed with what the emulator counts.

mod counts;
mod traffic;

pub use counts::Counts;
pub use traffic::Traffic;

use crate::catalogue::{Implementation, Rung};
use crate::engine::emulator::EmulatorEngine;
use crate::engine::{Engine, EngineError};
use crate::model::devices::Device;
use crate::model::occupancy::Launch;
use crate::model::predict::{self, PredictError, Prediction, WarpInstructions, Work};
use crate::plan::{PlannedLaunch, Request};
use crate::problem::Shape;
use crate::ptx;
use crate::run::{RunError, check_shape};
use std::sync::OnceLock;

/// A predicted launch.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The rung.
    pub rung: &'static Rung,
    /// The size.
    pub shape: Shape,
    /// What a multiprocessor is asked for.
    pub launch: Launch,
    /// What the launch does.
    pub work: Work,
    /// How long it takes, and why.
    pub prediction: Prediction,
}

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    /// It is a function of the host.
    #[error("{0} runs on the host and not as a kernel: choose a kernel, see `warpladder list`")]
    NotAKernel(&'static str),
    /// It is several kernels.
    #[error("{0} is a plan of several kernels, and only single ones are predicted: choose another")]
    SeveralKernels(&'static str),
    /// Its registers are not in the table.
    #[error("the registers of {0} are not known: run .ci/registers > ptx/registers.csv")]
    NoRegisters(&'static str),
    /// It cannot run at the sizes at which it is counted.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The emulator refuses it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The device cannot run it.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

/// Predicts one launch of a rung on a device, whose caches hold what fits of the launch before.
///
/// # Errors
/// See [`ForecastError`].
pub fn forecast(
    emulator: &EmulatorEngine,
    device: &Device,
    rung: &'static Rung,
    shape: Shape,
    seed: u64,
) -> Result<Forecast, ForecastError> {
    check_shape(rung, shape)?;
    let runs = rung.resolve(shape);
    if let Implementation::Cpu(_) = runs.implementation {
        return Err(ForecastError::NotAKernel(rung.name));
    }
    let request = Request {
        operation: runs.operation,
        shape,
        multiprocessors: device.multiprocessors.value,
        compute_capability: device.architecture.compute_capability,
        transposed: [false; 2],
    };
    let plan = runs.plan(&request, Vec::new());
    let launches = plan.map(|plan| plan.launches).unwrap_or_default();
    let [planned] = &launches[..] else {
        return Err(ForecastError::SeveralKernels(rung.name));
    };
    let launch = launch(emulator, planned)?;
    let counts = counts::at(emulator, runs, shape, seed)?;
    let work = work(device, &launch, &counts);
    let prediction = predict::predict(device, &launch, &work)?;
    Ok(Forecast {
        rung,
        shape,
        launch,
        work,
        prediction,
    })
}

fn launch(emulator: &EmulatorEngine, planned: &PlannedLaunch) -> Result<Launch, ForecastError> {
    let entry = planned.entry;
    let text = ptx::module(planned.compute_capability).only(entry);
    let kernel = emulator.load(&text, entry)?;
    Ok(Launch {
        blocks: planned.grid.iter().product(),
        threads_per_block: planned.block.count() as u32,
        registers_per_thread: registers(entry).ok_or(ForecastError::NoRegisters(entry))?,
        shared_bytes_per_block: emulator.static_shared_bytes(kernel) + planned.shared_bytes,
    })
}

/// Registers of a thread, as `ptxas` assigns them for compute capability 9.0; other generations differ by a few.
fn registers(entry: &str) -> Option<u32> {
    static TABLE: OnceLock<Vec<(String, u32)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut reader =
            csv::Reader::from_reader(include_str!("../../ptx/registers.csv").as_bytes());
        let rows = reader.deserialize::<(String, String, u32)>();
        let rows = rows.filter_map(Result::ok);
        rows.map(|(kernel, _, registers)| (kernel, registers))
            .collect()
    });
    let found = table.iter().find(|(kernel, _)| kernel == entry);
    found.map(|&(_, registers)| registers)
}

/// The counts as work on a device.
fn work(device: &Device, launch: &Launch, counts: &Counts) -> Work {
    let whole = |count: f64| count.round().max(0.0) as u64;
    let warps = launch.blocks * u64::from(launch.warps_per_block());
    let l2 = device.l2_bytes.map_or(0, |figure| figure.value);
    // Timed launches follow each other: what fits stays in the L2 cache, and of what does not, nothing does.
    let footprint = whole(counts.footprint);
    Work {
        instructions: WarpInstructions {
            fp32: whole(counts.fp32),
            fp64: whole(counts.fp64),
            half: whole(counts.half),
            integer: whole(counts.integer),
            special: 0,
            conversion: whole(counts.conversion),
            load_store: whole(counts.load_store),
            other: whole(counts.other),
        },
        l1_wavefronts: whole(counts.l1_wavefronts),
        l2_read_sectors: whole(counts.read_sectors),
        l2_write_sectors: whole(counts.write_sectors),
        l2_partial_sectors: whole(counts.partial_sectors),
        constant_lines: whole(counts.constant_lines),
        dram_bytes: if footprint > l2 { footprint } else { 0 },
        shared_wavefronts: whole(counts.shared_wavefronts),
        barriers_per_block: whole(counts.barriers) / warps.max(1),
        warp_latency_cycles: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::model::devices;

    #[test]
    fn the_registers_of_every_kernel_are_known() {
        for module in ptx::MODULES {
            for entry in module.entries() {
                assert!(
                    registers(entry).is_some(),
                    "{entry}: see ForecastError::NoRegisters"
                );
            }
        }
    }

    #[test]
    fn counts_at_a_large_size_are_those_of_a_run() {
        let emulator = EmulatorEngine::new();
        let shape = Shape {
            m: 384,
            n: 512,
            k: 640,
        };
        for name in ["tiled_32", "naive", "wolfe_k4_w32_j2"] {
            let rung = catalogue::find(name).unwrap();
            let extrapolated = counts::at(&emulator, rung, shape, 1).unwrap();
            let run = crate::profile::profile(&emulator, rung, shape, 1).unwrap();
            let total = run.counters.total();
            let wavefronts = total.shared().wavefronts as f64;
            assert_eq!(extrapolated.shared_wavefronts, wavefronts, "{name}");
            assert_eq!(extrapolated.barriers, total.barriers as f64, "{name}");
            let fmas = f64::from(shape.m) * f64::from(shape.n) * f64::from(shape.k) / 32.0;
            assert_eq!(extrapolated.fp32, fmas, "{name}");
        }
    }

    #[test]
    fn tiles_are_faster_than_none_and_blocking_in_registers_is_faster_still() {
        let emulator = EmulatorEngine::new();
        let h200 = devices::find("H200").unwrap();
        let shape = Shape {
            m: 2048,
            n: 2048,
            k: 2048,
        };
        let seconds = |name| {
            let rung = catalogue::find(name).unwrap();
            forecast(&emulator, h200, rung, shape, 1)
                .unwrap()
                .prediction
                .seconds
        };
        let outputs = seconds("outputs_4");
        assert!(seconds("naive") > 1.5 * outputs);
        assert!(outputs > 1.5 * seconds("register_blocked"));
    }
}

//! How long a rung should take: the models of [`model`](warpladder_models), fed with what the
//! emulator counts.

mod chain;
mod constants;
mod counts;
mod fingerprint;
mod operands;
mod requirement;
mod roof;
mod stores;
mod traffic;

pub use chain::{Chain, Cycles};
pub use counts::{Counts, Strided};
pub use fingerprint::fingerprint;
pub use requirement::is_older_than_the_ptx;
pub use roof::{least_seconds, roof_pct};
pub use stores::{Sectors, Stored};
pub use traffic::Traffic;

use crate::catalogue::{PlanRequest, Rung};
use crate::problem::{Operation, Shape};
use crate::run::{
    Admitted, Predicted, RunError, check_generation, check_shape, preflight_elsewhere,
};
use std::sync::OnceLock;
use traffic::SECTOR_BYTES;
use warpladder::device::ComputeCapability;
use warpladder::device::DeviceProperties;
use warpladder::element::ElementType;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::error::EngineError;
use warpladder::gemm::DeviceLimits;
use warpladder::plan::PlannedLaunch;
use warpladder::ptx;
use warpladder_models::Bound;
use warpladder_models::Figure;
use warpladder_models::devices::{DeviceModel, Queried};
use warpladder_models::occupancy::Launch;
use warpladder_models::predict::{
    self, PredictError, Prediction, TensorFlops, WarpInstructions, Work,
};

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
    Ok(DeviceLimits::new(device.multiprocessors.value, own).with_generation(generation)?)
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
        multiprocessors: device.multiprocessors,
        compute_capability: device.compute_capability,
        generation: device.generation,
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

/// Registers of a thread on a device: those of compute capability 9.0, as far as a thread can have
/// that number. Other generations differ by a few.
fn registers(device: &DeviceModel, entry: &'static str) -> Result<u32, ForecastError> {
    let most = device.architecture.limits.value.registers_per_thread;
    let assigned = assigned_registers(entry).ok_or(ForecastError::NoRegisters(entry))?;
    Ok(assigned.min(most))
}

/// Registers of a thread, as `ptxas` assigns them for compute capability 9.0.
fn assigned_registers(entry: &str) -> Option<u32> {
    static TABLE: OnceLock<Vec<(String, u32)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut reader = csv::Reader::from_reader(ptx::REGISTERS.as_bytes());
        let rows = reader.deserialize::<(String, String, u32)>();
        let rows = rows.filter_map(Result::ok);
        rows.map(|(kernel, _, registers)| (kernel, registers))
            .collect()
    });
    let found = table.iter().find(|(kernel, _)| kernel == entry);
    found.map(|&(_, registers)| registers)
}

/// The row of a GPU of this machine: what its driver tells, and for the rest what is known of the
/// same GPU.
pub fn device_of(properties: &DeviceProperties) -> DeviceModel {
    DeviceModel::from_query(&Queried {
        name: properties.name.clone(),
        compute_capability: properties.compute_capability.into(),
        multiprocessors: properties.multiprocessors,
        clock_khz: properties.clock_khz,
        peak_bandwidth_gbs: properties.peak_bandwidth_gbs,
        l2_bytes: properties.l2_bytes,
        shared_bytes_per_multiprocessor: properties.shared_bytes_per_multiprocessor,
        shared_bytes_per_block_optin: properties.shared_bytes_per_block_optin,
        shared_bytes_reserved_per_block: properties.shared_bytes_reserved_per_block,
        registers_per_multiprocessor: properties.registers_per_multiprocessor,
        registers_per_block: properties.registers_per_block,
        max_threads_per_multiprocessor: properties.max_threads_per_multiprocessor,
        max_threads_per_block: properties.max_threads_per_block,
        max_blocks_per_multiprocessor: properties.max_blocks_per_multiprocessor,
    })
}

/// The cycles of a device that [`Chain`]s of instructions depend on; where one is unknown, those of
/// the nearest kind.
pub fn cycles(device: &DeviceModel) -> Cycles {
    const FMA: f64 = 6.0;
    const ISSUES: f64 = 4.0;
    let value = |figure: Option<Figure<f64>>| figure.map(|figure| figure.value);
    let latencies = &device.latencies;
    let arithmetic = value(latencies.fma).unwrap_or(FMA);
    let shared = value(latencies.shared).unwrap_or(4.0 * arithmetic);
    let dram = value(latencies.dram).unwrap_or(100.0 * arithmetic);
    let architecture = &device.architecture;
    let issues = value(architecture.issue).unwrap_or(ISSUES).max(1.0);
    let lanes = architecture
        .load_store
        .map_or(32.0, |figure| f64::from(figure.value));
    Cycles {
        arithmetic,
        fp64: value(latencies.fp64).unwrap_or(arithmetic),
        shared,
        l1: value(latencies.l1).unwrap_or(shared),
        miss: [value(latencies.l2).unwrap_or(dram), dram],
        load_store_issue: 32.0 * issues / lanes,
        // Since compute capability 9.0 `ptxas` loads each such operand by an instruction of its own
        // (ULDC).
        constant_operand_issue: f64::from(u8::from(architecture.compute_capability >= 90)),
    }
}

/// The counts as work on a device.
fn work(
    device: &DeviceModel,
    rung: &Rung,
    shape: Shape,
    launch: &Launch,
    counts: &Counts,
) -> Result<Work, PredictError> {
    let rounds = predict::rounds(device, launch)?;
    let stored = counts.stored.by(predict::resident_warps(device, launch)?);
    let whole = |count: f64| count.round().max(0.0) as u64;
    let warps = launch.blocks * u64::from(launch.warps_per_block());
    let operation = rung.operation;
    let flops = whole(operation.flops(shape));
    let tensor = match (counts.tensor > 0.0, rung.element, operation) {
        (false, ..) => TensorFlops::default(),
        (_, ElementType::F64, _) => TensorFlops { f16: 0, f64: flops },
        // The units do half as many products of twice the width.
        (_, _, Operation::TensorProduct(input)) => TensorFlops {
            f16: whole(operation.flops(shape) / input.rate()),
            f64: 0,
        },
        _ => TensorFlops {
            f16: u64::from(rung.mmas_per_product()) * flops,
            f64: 0,
        },
    };
    // In further waves other blocks have work meanwhile.
    let ahead_of_others = counts.constant_addresses_ahead * (1.0 - 1.0 / rounds as f64);
    let dram_bytes = dram_bytes(device, rung, shape, rounds, counts);
    let read_bytes = counts.read_sectors * SECTOR_BYTES as f64;
    let missing = (dram_bytes / read_bytes.max(1.0)).min(1.0);
    let chain = counts.chain_l2 + missing * (counts.chain_dram - counts.chain_l2);
    Ok(Work {
        instructions: WarpInstructions {
            fp32: whole(counts.fp32),
            fp64: whole(counts.fp64),
            half: whole(counts.half),
            integer: whole(counts.integer),
            special: 0,
            conversion: whole(counts.conversion),
            load_store: whole(counts.load_store),
            other: whole(counts.other + counts.tensor),
        },
        tensor,
        l1_wavefronts: whole(counts.l1_wavefronts),
        l1_lines: whole(counts.l1_lines),
        l2_read_sectors: whole(counts.read_sectors),
        l2_write_sectors: whole(counts.write_sectors + stored.whole),
        l2_partial_sectors: whole(stored.partial),
        constant_addresses: whole(counts.constant_addresses + ahead_of_others),
        constant_addresses_ahead: whole(counts.constant_addresses_ahead - ahead_of_others),
        constant_operands: whole(counts.constant_operands),
        dram_bytes: whole(dram_bytes),
        shared_wavefronts: whole(counts.shared_wavefronts),
        // Those of products are arrivals at counters, one of a block.
        atomics: match operation.is_product() {
            true => 0,
            false => whole(counts.atomics),
        },
        barriers_per_block: whole(counts.barriers / launch.blocks.max(1) as f64),
        warp_latency_cycles: Some(chain / warps.max(1) as f64),
    })
}

/// Bytes that device memory moves.
///
/// A GPU without caches moves what each half of a warp asks for, sector by sector. Elsewhere timed
/// launches follow each other: what fits stays in the L2 cache, and of what does not, nothing does.
/// Of a product whose larger input does not fit, each wave of resident blocks reads that input
/// again: it runs along the whole extent of the grid, while the other input's part is shared by the
/// blocks of a wave.
fn dram_bytes(
    device: &DeviceModel,
    rung: &Rung,
    shape: Shape,
    rounds: u64,
    counts: &Counts,
) -> f64 {
    let Some(l2) = device.l2_bytes else {
        return counts.half_warp_sectors * SECTOR_BYTES as f64;
    };
    let l2 = l2.value as f64;
    if counts.footprint <= l2 {
        return 0.0;
    }
    // Copies before a product have no arithmetic.
    let product = counts.fp32 + counts.fp64 + counts.tensor > 0.0 && rung.operation.is_product();
    let (m, n, k) = (f64::from(shape.m), f64::from(shape.n), f64::from(shape.k));
    let element = match rung.operation {
        Operation::TensorProduct(input) => 4.0 / f64::from(input.per_word()),
        _ => rung.element.bytes() as f64,
    };
    let larger = m.max(n) * k * element;
    if product && larger > l2 {
        counts.footprint + (rounds - 1) as f64 * larger
    } else {
        counts.footprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{self, Implementation};
    use warpladder_models::devices;

    #[test]
    fn the_registers_of_every_kernel_are_known() {
        for module in ptx::MODULES {
            for entry in module.entries() {
                assert!(
                    assigned_registers(entry).is_some(),
                    "{entry}: see ForecastError::NoRegisters"
                );
            }
        }
    }

    /// Warps of a block.
    fn rung_warps(rung: &Rung) -> f64 {
        let Implementation::Kernel { geometry, .. } = rung.implementation else {
            unreachable!("{} is a kernel", rung.name);
        };
        let [x, y, z] = geometry.block();
        f64::from((x * y * z).div_ceil(32))
    }

    #[test]
    fn counts_at_a_large_size_are_those_of_a_run() {
        let emulator = EmulatorEngine::new();
        let shape = Shape {
            m: 384,
            n: 512,
            k: 640,
        };
        for name in ["tiled_32", "naive", "wolfe_k4_w32_j2", "add_one"] {
            let rung = catalogue::find(name).unwrap();
            let request = PlanRequest {
                operation: rung.operation,
                shape,
                multiprocessors: 8,
                compute_capability: ComputeCapability::V9_0,
                generation: ComputeCapability::V9_0,
                transposed: [false; 2],
            };
            let h200 = devices::find("H200").unwrap();
            let admitted = preflight_elsewhere(rung, &request).unwrap();
            let extrapolated = counts::at(&admitted, cycles(h200), 1).unwrap()[0];
            let admitted = crate::run::preflight(&emulator, rung, shape).unwrap();
            let run = crate::profile::profile(&emulator, &admitted, 1).unwrap();
            let total = run.counters.total();
            let wavefronts = total.shared().wavefronts as f64;
            assert_eq!(extrapolated.shared_wavefronts, wavefronts, "{name}");
            let warps = rung_warps(rung);
            assert_eq!(
                extrapolated.barriers * warps,
                total.barriers as f64,
                "{name}"
            );
            let loads = total.global_loads.sectors as f64;
            assert!(extrapolated.read_sectors <= loads, "{name}");
        }
    }

    #[test]
    fn sizes_that_leave_the_same_rest_share_their_runs() {
        // A seed that no other test counts with.
        const SEED: u64 = 0x5eed;
        let (h200, rung) = (
            devices::find("H200").unwrap(),
            catalogue::find("transpose_padded").unwrap(),
        );
        let runs_after = |size| {
            let shape = Shape {
                m: size,
                n: size,
                k: 1,
            };
            forecast(&EmulatorEngine::new(), h200, rung, shape, SEED).unwrap();
            counts::runs_with(SEED)
        };
        assert_eq!([4096, 8192, 8224].map(runs_after), [4, 4, 8]);
    }

    /// Kernels are chosen by the size: at these no smaller one has the same.
    #[test]
    fn general_products_are_predicted_at_every_small_size() {
        let emulator = EmulatorEngine::new();
        let shape = Shape {
            m: 300,
            n: 300,
            k: 40,
        };
        for (name, device) in [("sgemm", "H200"), ("dgemm", "A100"), ("wgmma_bf16", "H200")] {
            let (rung, device) = (
                catalogue::find(name).unwrap(),
                devices::find(device).unwrap(),
            );
            let forecast = forecast(&emulator, device, rung, shape, 1).unwrap();
            let peak = roof_pct(device, rung, shape, forecast.seconds() * 1e3);
            assert!(peak.is_some_and(|share| share < 100.0), "{name}: {peak:?}");
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
            forecast(&emulator, h200, rung, shape, 1).unwrap().seconds()
        };
        let outputs = seconds("outputs_4");
        assert!(seconds("naive") > 1.5 * outputs);
        assert!(outputs > 1.5 * seconds("register_blocked"));
    }

    /// Addresses that the constant cache serves for a vector: requests of a round, times addresses
    /// of each, times warps.
    #[test]
    fn constants_are_asked_for_as_the_assembler_has_it() {
        let shape = Shape {
            m: 4096,
            n: 4096,
            k: 1,
        };
        let h200 = devices::find("H200").unwrap();
        for (name, elements, expected) in [
            // Loaded ahead of the loop.
            ("matvec_thread_per_element_8", 8, 0.0),
            // Four words of a row one by one, eight in pairs.
            ("matvec_thread_per_element_12", 12, 8.0 * 12.0 * 12.0 / 32.0),
            ("matvec_thread_per_element", 16, 16.0 * 16.0 / 2.0),
            // Half of the words come from afar.
            ("matvec_thread_per_element_32", 32, 1.5 * 32.0 * 32.0),
        ] {
            let rung = catalogue::find(name).unwrap();
            let strided = Strided::of(rung, cycles(h200), 1).unwrap().unwrap();
            let counts = strided.at(shape, 132 * 2048);
            let vectors = f64::from(shape.m * shape.n / elements);
            let each = counts.constant_addresses / vectors;
            assert!(
                (each - expected).abs() <= 0.02 * expected + 1.0,
                "{name}: {each}"
            );
        }
    }
}

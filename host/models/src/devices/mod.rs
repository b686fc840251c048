//! The device table: what the models need to know of a GPU, figure by figure, each with its source.
//!
//! The GPUs of the sources and current ones. A figure is a datasheet's, a measured one from the
//! literature, or not known, and then it is `None`: nothing is invented, and a model that needs it
//! says so. What all GPUs of a compute capability share is in [`Architecture`];
//! [`DeviceModel::from_query`] makes a row for a GPU of this machine.
//!
//! Some sources use other figures for these GPUs than their datasheets (002 takes 400 cycles for
//! the latency of any DRAM). Those are inputs of a model, not rows of this table.

mod architecture;
mod architectures;
mod fermi_and_older;
mod kepler_to_pascal;
mod live;
mod measured;
mod volta_and_newer;

pub use architecture::{Architecture, Lanes};
pub use live::Queried;
pub use measured::{Measured, Spread};

use super::Bound;
use super::figure::Figure;
use super::roofline::{Level, Roof, Roofline};
use std::borrow::Cow;
use std::sync::LazyLock;
use thiserror::Error;

/// A GPU.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DeviceModel {
    /// Name with which it is asked for.
    pub name: Cow<'static, str>,
    /// The chip.
    pub chip: Cow<'static, str>,
    /// What it shares with its generation.
    pub architecture: Architecture,
    /// Number of multiprocessors.
    pub multiprocessors: Figure<u32>,
    /// φ: highest clock of the multiprocessors, in MHz.
    pub clock_mhz: Figure<f64>,
    /// Θ_M: peak bandwidth of device memory, in GB/s.
    pub dram_gbs: Figure<f64>,
    /// What reading from device memory reaches of it, in GB/s.
    pub dram_read_gbs: Option<Figure<f64>>,
    /// L2 cache, in bytes.
    pub l2_bytes: Option<Figure<u64>>,
    /// Θ_2: what reading from the L2 cache reaches, in GB/s.
    pub l2_gbs: Option<Figure<f64>>,
    /// Latencies.
    pub latencies: Latencies,
    /// Peak of the tensor cores with f16 or bf16 inputs and f32 sums, dense, in TFLOP/s.
    pub tensor_f16_tflops: Option<Figure<f64>>,
    /// What only kernels tell.
    pub calibration: Calibration,
}

/// Figures that neither a query nor a datasheet tells: they are measured with kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Calibration {
    /// What writing whole sectors to the L2 cache reaches, in GB/s.
    pub l2_write_gbs: Option<Figure<f64>>,
    /// What writing parts of sectors to the L2 cache reaches, counted in whole sectors, in GB/s.
    pub l2_partial_gbs: Option<Figure<f64>>,
    /// What the tensor cores reach with f16 or bf16 inputs within the chip's power, in TFLOP/s.
    pub tensor_f16_tflops: Option<Figure<f64>>,
    /// Cycles in which the L1 cache of a multiprocessor finds a line of a request, where its words
    /// are in different banks.
    pub l1_line_cycles: Option<Figure<f64>>,
    /// Cycles in which the constant cache of a multiprocessor serves one address of a request.
    pub constant_cycles: Option<Figure<f64>>,
    /// Cycles in which it fetches an operand of arithmetic that is not next to the units.
    pub constant_operand_cycles: Option<Figure<f64>>,
    /// Cycles of a multiprocessor between the starts of two blocks.
    pub block_cycles: Option<Figure<f64>>,
    /// Cycles that each warp adds to what it takes to start a block and to free its place.
    pub warp_cycles: Option<Figure<f64>>,
    /// What a launch that is timed alone takes beside its work, in µs: from one event over an
    /// empty kernel to the next.
    pub launch_us: Option<Figure<f64>>,
    /// What each further launch behind it takes beside its work, in µs.
    pub next_launch_us: Option<Figure<f64>>,
    /// Clusters of 1 to 8 blocks, of which each has a multiprocessor alone, that run at the same
    /// time.
    pub active_clusters: Option<Figure<[u32; 8]>>,
}

impl Calibration {
    /// Nothing was measured.
    pub const UNKNOWN: Self = Calibration {
        l2_write_gbs: None,
        l2_partial_gbs: None,
        tensor_f16_tflops: None,
        l1_line_cycles: None,
        constant_cycles: None,
        constant_operand_cycles: None,
        block_cycles: None,
        warp_cycles: None,
        launch_us: None,
        next_launch_us: None,
        active_clusters: None,
    };
}

/// Cycles from an instruction to the next one that needs its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Latencies {
    /// L_F: f32 multiply-add.
    pub fma: Option<Figure<f64>>,
    /// f64 multiply-add; `None` where it was not measured apart from f32.
    pub fp64: Option<Figure<f64>>,
    /// Load that hits the L1 cache.
    pub l1: Option<Figure<f64>>,
    /// Load from shared memory.
    pub shared: Option<Figure<f64>>,
    /// L_2: load that hits the L2 cache.
    pub l2: Option<Figure<f64>>,
    /// L_M: load from device memory.
    pub dram: Option<Figure<f64>>,
}

/// Failures of the table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// No such row.
    #[error("no device `{name}` in the table: give one of {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
}

/// The rows, oldest first.
const TABLES: [&[DeviceModel]; 3] = [
    fermi_and_older::DEVICES,
    kepler_to_pascal::DEVICES,
    volta_and_newer::DEVICES,
];

/// The row that was calibrated, and the calibration that is kept in the repository.
const CALIBRATED: (&str, &str) = ("H200", include_str!("h200.json"));

/// Every row of the table, oldest first.
pub fn table() -> impl Iterator<Item = &'static DeviceModel> + Clone {
    static ROWS: LazyLock<Vec<DeviceModel>> = LazyLock::new(|| {
        let (name, text) = CALIBRATED;
        let measured: Option<Measured> = serde_json::from_str(text).ok();
        let rows = TABLES.into_iter().flatten().cloned();
        rows.map(|row| match &measured {
            Some(measured) if row.name == name => row.calibrated(measured),
            _ => row,
        })
        .collect()
    });
    ROWS.iter()
}

/// The row of this name; capitals, spaces and hyphens do not matter.
///
/// # Errors
/// An unknown name, with all that there are.
pub fn find(name: &str) -> Result<&'static DeviceModel, DeviceError> {
    table()
        .find(|device| plain(&device.name) == plain(name))
        .ok_or_else(|| DeviceError::Unknown {
            name: name.to_owned(),
            known: table()
                .map(|device| device.name.as_ref())
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// The row of the GPU that a driver calls so: that whose name is in it word by word, the longest
/// where there are several. A word that makes another model of it, such as `Ti`, is no such name.
pub fn named(name: &str) -> Option<&'static DeviceModel> {
    const OTHER_MODELS: [&str; 8] = [
        "ti", "super", "laptop", "mobile", "max", "pcie", "nvl", "mig",
    ];
    let words = |name: &str| -> Vec<String> {
        let lower = name.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let asked = words(name);
    let is_other = asked.iter().any(|word| OTHER_MODELS.contains(&&**word));
    let is_named = |row: &&DeviceModel| {
        let own = words(&row.name);
        asked.windows(own.len()).any(|part| part == own)
    };
    let rows = table().filter(|_| !is_other).filter(is_named);
    rows.max_by_key(|row| row.name.len())
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

impl DeviceModel {
    /// φ in GHz.
    pub fn clock_ghz(&self) -> f64 {
        self.clock_mhz.value / 1e3
    }

    /// Bandwidth of device memory to reckon with, in GB/s: what reading reaches where that is
    /// known, else the peak.
    pub fn usable_dram_gbs(&self) -> Figure<f64> {
        self.dram_read_gbs.unwrap_or(self.dram_gbs)
    }

    /// Peak of the f32 units, in GFLOP/s: two FLOP per lane and cycle.
    pub fn peak_fp32_gflops(&self) -> Option<f64> {
        self.peak_gflops(|lanes| Some(lanes.fp32))
    }

    /// What the tensor cores reach with f16 or bf16 inputs, in TFLOP/s: measured where it is, else
    /// the peak.
    pub fn usable_tensor_tflops(&self) -> Option<Figure<f64>> {
        self.calibration
            .tensor_f16_tflops
            .or(self.tensor_f16_tflops)
    }

    /// Peak of the tensor cores in f64, in GFLOP/s; `None` where they have no such instructions,
    /// or their rate is not known.
    pub fn peak_tensor_fp64_gflops(&self) -> Option<f64> {
        Some(self.gflops_of(self.architecture.tensor_fp64?.value))
    }

    /// Peak of the f64 units, in GFLOP/s.
    pub fn peak_fp64_gflops(&self) -> Option<f64> {
        self.peak_gflops(|lanes| Some(lanes.fp64))
    }

    fn peak_gflops(&self, of: impl Fn(&Lanes) -> Option<u32>) -> Option<f64> {
        Some(self.gflops_of(of(&self.architecture.lanes?.value)?))
    }

    /// GFLOP/s of units by their multiply-adds per cycle and multiprocessor.
    fn gflops_of(&self, lanes: u32) -> f64 {
        2.0 * f64::from(lanes * self.multiprocessors.value) * self.clock_ghz()
    }

    /// Bandwidth of shared memory without conflicts, all multiprocessors together, in GB/s.
    pub fn shared_gbs(&self) -> f64 {
        let per_cycle = self.architecture.banks.value.bytes_per_cycle();
        per_cycle * f64::from(self.multiprocessors.value) * self.clock_ghz()
    }

    /// The roofline of the f32 or the f64 units under all roofs that are known; `None` where their
    /// number is not.
    pub fn roofline(&self, unit: Bound) -> Option<Roofline> {
        let peak_gflops = match unit {
            Bound::Fp32 => self.peak_fp32_gflops()?,
            Bound::Fp64 => self.peak_fp64_gflops()?,
            _ => return None,
        };
        let roof = |level, gbs: Option<f64>| gbs.map(|gbs| Roof { level, gbs });
        let roofs = [
            roof(Level::Dram, Some(self.dram_gbs.value)),
            roof(Level::L2, self.l2_gbs.map(|figure| figure.value)),
            roof(Level::Shared, Some(self.shared_gbs())),
        ];
        Some(Roofline {
            unit,
            peak_gflops,
            roofs: roofs.into_iter().flatten().collect(),
        })
    }
}

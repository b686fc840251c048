//! What a report is made of: results as the other commands wrote them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use warpladder_lab::sweep::Sweep;
use warpladder_results::h200;

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// No file.
    #[error("cannot read {}: {error}", .path.display())]
    File {
        /// Its name.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Another format.
    #[error("{name}: {error}: give files that `warpladder run --json` wrote")]
    Content {
        /// Its name.
        name: String,
        /// Why.
        error: serde_json::Error,
    },
    /// No records.
    #[error("{} holds no records: run some kernels, see `warpladder run --help`", .0.display())]
    Empty(PathBuf),
    /// Several devices.
    #[error("the results are of {one} and of {other}: make a report for each")]
    Devices {
        /// A device.
        one: String,
        /// Another one.
        other: String,
    },
}

/// A record of `run --json`, of any version: see docs/results.md.
#[derive(Clone, Debug, Deserialize)]
pub struct Measured {
    /// Name of the rung.
    pub kernel: String,
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// The third dimension.
    pub k: Option<u32>,
    /// `gpu`, `emulator` or `cpu`.
    pub engine: String,
    /// Its name.
    pub device: String,
    /// Whether the output was right.
    pub ok: bool,
    /// Number of samples.
    pub samples: usize,
    /// Median, in milliseconds.
    pub median_ms: Option<f64>,
    /// Standard deviation in percent of the mean.
    pub noise_pct: Option<f64>,
    /// 10⁹ operations per second.
    pub gflops: Option<f64>,
    /// 10⁹ bytes per second.
    pub gbs: Option<f64>,
    /// With the transfers, in milliseconds.
    pub host_to_host_ms: Option<f64>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// Temperature after the last sample, in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Power limit, in watts.
    pub power_limit_w: Option<f64>,
    /// What held the clocks down.
    pub throttled: Option<String>,
}

/// A prediction of one kernel at one size.
#[derive(Clone, Debug, Deserialize)]
pub struct Predicted {
    /// Name of the rung.
    pub kernel: String,
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// Time, in milliseconds.
    pub predicted_ms: f64,
    /// What takes longest.
    pub bound: String,
}

/// A row of `reproduce --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Reproduced {
    /// Number of the source.
    pub source: String,
    /// Title of the table.
    pub group: String,
    /// Name of the rung.
    pub rung: String,
    /// The rung before.
    pub over: Option<String>,
    /// The source's machine.
    pub hardware: String,
    /// The source's problem.
    pub problem: String,
    /// The source's figures.
    pub there: Vec<There>,
    /// Ours.
    pub here: Vec<Here>,
    /// Why.
    pub why: String,
}

/// A figure of a source.
#[derive(Clone, Debug, Deserialize)]
pub struct There {
    /// As the source words it.
    pub words: String,
    /// How many times better than the rung before.
    pub step: Option<f64>,
}

/// A figure of ours.
#[derive(Clone, Debug, Deserialize)]
pub struct Here {
    /// Its unit.
    pub unit: String,
    /// The value.
    pub value: Option<f64>,
    /// How many times better than the rung before.
    pub step: Option<f64>,
}

/// A record of `compare --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Compared {
    /// Name of the rung.
    pub kernel: String,
    /// What it was compared with.
    pub peer: String,
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// The third dimension.
    pub k: Option<u32>,
    /// GFLOP/s.
    pub gflops: Option<f64>,
    /// The peer's.
    pub peer_gflops: Option<f64>,
    /// GB/s.
    pub gbs: f64,
    /// The peer's.
    pub peer_gbs: f64,
}

/// The device query, as far as a report shows it.
#[derive(Clone, Debug, Deserialize)]
pub struct Device {
    /// Name.
    pub name: String,
    /// Version of CUDA that the driver has.
    pub cuda_version: String,
    /// Compute capability times ten.
    pub compute_capability: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Clock, in kHz.
    pub clock_khz: u32,
    /// Bandwidth of memory, in GB/s.
    pub peak_bandwidth_gbs: f64,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// State.
    pub state: Option<DeviceState>,
}

/// State of the device before the runs.
#[derive(Clone, Debug, Deserialize)]
pub struct DeviceState {
    /// Version of the driver.
    pub driver_version: Option<String>,
    /// Temperature.
    pub temperature_c: Option<u32>,
    /// Power limit, in watts.
    pub power_limit_w: Option<f64>,
}

/// Everything that a report shows.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Where the measurements are from, in words.
    pub origin: String,
    /// The measurements.
    pub measured: Vec<Measured>,
    /// The device, where it is known.
    pub device: Option<Device>,
    /// Predictions for this device.
    pub predicted: Vec<Predicted>,
    /// The sources' tables on this device.
    pub reproduced: Vec<Reproduced>,
    /// Kernels beside their peers on this device.
    pub compared: Vec<Compared>,
    /// Sweeps on this device.
    pub sweeps: Vec<Sweep>,
}

impl Data {
    /// The results of an H200 that ship with the program.
    ///
    /// # Errors
    /// [`DataError::Content`], which a test excludes.
    pub fn shipped() -> Result<Self, DataError> {
        let mut measured: Vec<Measured> = parse("results/h200/run.json", h200::RUN)?;
        let smaller: Vec<Measured> = parse("results/h200/run-2048.json", h200::RUN_2048)?;
        measured.extend(smaller);
        let devices: Vec<Device> = parse("results/h200/devices.json", h200::DEVICES)?;
        let compared: [Vec<Compared>; 5] = [
            parse("results/h200/compare-sgemm.json", h200::COMPARE_SGEMM)?,
            parse("results/h200/compare-dgemm.json", h200::COMPARE_DGEMM)?,
            parse("results/h200/compare-wgmma.json", h200::COMPARE_WGMMA)?,
            parse(
                "results/h200/compare-wgmma-tf32.json",
                h200::COMPARE_WGMMA_TF32,
            )?,
            parse(
                "results/h200/compare-transpose.json",
                h200::COMPARE_TRANSPOSE,
            )?,
        ];
        Ok(Data {
            origin: "results/h200, which ships with the program".to_owned(),
            measured,
            device: devices.into_iter().next(),
            predicted: parse("results/h200/predict.json", h200::PREDICT)?,
            reproduced: parse("results/h200/reproduce.json", h200::REPRODUCE)?,
            compared: compared.concat(),
            sweeps: vec![
                parse("results/h200/sweep-add_one.json", h200::SWEEP_ADD_ONE)?,
                parse("results/h200/sweep-matvec_lcs.json", h200::SWEEP_MATVEC_LCS)?,
                parse(
                    "results/h200/sweep-matvec_interleaved.json",
                    h200::SWEEP_MATVEC_INTERLEAVED,
                )?,
                parse(
                    "results/h200/sweep-matvec_thread_per_element.json",
                    h200::SWEEP_MATVEC_THREAD_PER_ELEMENT,
                )?,
            ],
        })
    }

    /// The results of these files, with what ships about the same device.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn from_files(paths: &[PathBuf]) -> Result<Self, DataError> {
        let mut measured: Vec<Measured> = Vec::new();
        for path in paths {
            let records = read(path)?;
            if records.is_empty() {
                return Err(DataError::Empty(path.clone()));
            }
            measured.extend(records);
        }
        let on_device = || measured.iter().filter(|record| record.engine != "cpu");
        let mut devices = on_device().map(|record| &record.device);
        if let Some(one) = devices.next()
            && let Some(other) = devices.find(|other| *other != one)
        {
            return Err(DataError::Devices {
                one: one.clone(),
                other: other.clone(),
            });
        }
        let shipped = Data::shipped()?;
        let shipped_device = shipped.device.as_ref().map(|device| device.name.as_str());
        let same_device = on_device()
            .next()
            .is_some_and(|record| Some(record.device.as_str()) == shipped_device);
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let rest = if same_device {
            shipped
        } else {
            Data::default()
        };
        Ok(Data {
            origin: names.join(", "),
            measured,
            ..rest
        })
    }

    /// The device's name: of the query, else of the records.
    pub fn device_name(&self) -> Option<&str> {
        let queried = self.device.as_ref().map(|device| device.name.as_str());
        queried.or_else(|| {
            let mut records = self.measured.iter();
            let record = records.find(|record| record.engine != "cpu")?;
            Some(record.device.as_str())
        })
    }

    /// The prediction for a measurement.
    pub fn prediction(&self, measured: &Measured) -> Option<&Predicted> {
        self.predicted.iter().find(|predicted| {
            predicted.kernel == measured.kernel
                && (predicted.m, predicted.n) == (measured.m, measured.n)
                && measured.engine == "gpu"
        })
    }

    /// The measurements of the size that most of them have.
    pub fn at_main_size(&self) -> Vec<&Measured> {
        let of_size = |size: (u32, u32)| {
            let measured = self.measured.iter();
            measured
                .filter(|record| (record.m, record.n) == size)
                .collect::<Vec<_>>()
        };
        let sizes = self.measured.iter().map(|record| (record.m, record.n));
        sizes.map(of_size).max_by_key(Vec::len).unwrap_or_default()
    }
}

fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, DataError> {
    serde_json::from_str(text).map_err(|error| DataError::Content {
        name: name.to_owned(),
        error,
    })
}

fn read(path: &Path) -> Result<Vec<Measured>, DataError> {
    let text = std::fs::read_to_string(path).map_err(|error| DataError::File {
        path: path.to_owned(),
        error,
    })?;
    parse(&path.display().to_string(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;

    #[test]
    fn what_ships_is_read_and_names_kernels_of_the_catalogue() {
        let data = Data::shipped().unwrap();
        assert!(data.at_main_size().len() > 80);
        assert!(data.predicted.len() > 80 && data.reproduced.len() > 50);
        for record in &data.measured {
            assert!(
                catalogue::find(&record.kernel).is_some(),
                "{}",
                record.kernel
            );
        }
    }
}

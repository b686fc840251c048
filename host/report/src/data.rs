//! What a report is made of: results as the other commands wrote them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use warpladder::device::DeviceProperties;
use warpladder::engine::EngineKind;
use warpladder_lab::compare::PeerComparison;
use warpladder_lab::reproduce::Row;
use warpladder_lab::results;
use warpladder_lab::run::{Record, read_records};
use warpladder_lab::sweep::Sweep;
use warpladder_results::h200;

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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

/// A prediction of one kernel at one size beside its measurement: a row of `predict.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Predicted {
    /// Name of the rung.
    pub kernel: String,
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// The third dimension; null where there is none.
    pub k: Option<u32>,
    /// Measured time, in milliseconds.
    pub measured_ms: f64,
    /// Predicted time, in milliseconds.
    pub predicted_ms: f64,
    /// What takes longest.
    pub bound: String,
}

/// Everything that a report shows.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Where the measurements are from, in words.
    pub origin: String,
    /// The measurements.
    pub measured: Vec<Record>,
    /// The device, where it is known.
    pub device: Option<DeviceProperties>,
    /// Predictions for this device.
    pub predicted: Vec<Predicted>,
    /// The sources' tables on this device.
    pub reproduced: Vec<Row>,
    /// Kernels beside their peers on this device.
    pub compared: Vec<PeerComparison>,
    /// Sweeps on this device.
    pub sweeps: Vec<Sweep>,
}

impl Data {
    /// The results of an H200 that ship with the program.
    ///
    /// # Errors
    /// [`DataError::Content`], which a test excludes.
    pub fn shipped() -> Result<Self, DataError> {
        let mut measured: Vec<Record> = parse_run("results/h200/run.json", h200::RUN)?;
        let smaller: Vec<Record> = parse_run("results/h200/run-2048.json", h200::RUN_2048)?;
        measured.extend(smaller);
        let devices: Vec<DeviceProperties> = parse("results/h200/devices.json", h200::DEVICES)?;
        let compared: [Vec<PeerComparison>; 5] = [
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
            sweeps: [
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
            ]
            .concat(),
        })
    }

    /// The results of these files, with what ships about the same device.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn from_files(paths: &[PathBuf]) -> Result<Self, DataError> {
        let mut measured: Vec<Record> = Vec::new();
        for path in paths {
            let records = read(path)?;
            if records.is_empty() {
                return Err(DataError::Empty(path.clone()));
            }
            measured.extend(records);
        }
        let on_device = || {
            measured
                .iter()
                .filter(|record| record.engine != EngineKind::Cpu)
        };
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
            let record = records.find(|record| record.engine != EngineKind::Cpu)?;
            Some(record.device.as_str())
        })
    }

    /// The prediction for a measurement.
    pub fn prediction(&self, measured: &Record) -> Option<&Predicted> {
        self.predicted.iter().find(|predicted| {
            predicted.kernel == measured.kernel
                && (predicted.m, predicted.n) == (measured.m, measured.n)
                && measured.engine == EngineKind::Gpu
        })
    }

    /// The measurements of the size that most of them have.
    pub fn at_main_size(&self) -> Vec<&Record> {
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

/// The records of a file of any version.
fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<Vec<T>, DataError> {
    results::read(text).map_err(|error| DataError::Content {
        name: name.to_owned(),
        error,
    })
}

/// The records of a file of `run`, of any version.
fn parse_run(name: &str, text: &str) -> Result<Vec<Record>, DataError> {
    read_records(text).map_err(|error| DataError::Content {
        name: name.to_owned(),
        error,
    })
}

fn read(path: &Path) -> Result<Vec<Record>, DataError> {
    let text = std::fs::read_to_string(path).map_err(|error| DataError::File {
        path: path.to_owned(),
        error,
    })?;
    parse_run(&path.display().to_string(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder_lab::catalogue;
    use warpladder_lab::run::Detailed;

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

    /// The names of the fields of a JSON text, line by line.
    fn fields(text: &str) -> Vec<&str> {
        let names = text.lines().filter_map(|line| {
            let (name, _) = line.trim().strip_prefix('"')?.split_once("\":")?;
            Some(name)
        });
        names.collect()
    }

    #[test]
    fn a_record_that_was_read_is_written_as_it_was() {
        for text in [h200::RUN, h200::RUN_2048] {
            let records: Vec<Record> = parse_run("run", text).unwrap();
            let detailed: Vec<_> = records
                .iter()
                .map(|record| Detailed::new(record, None::<()>, None))
                .collect();
            let values: Vec<serde_json::Value> = parse("run", text).unwrap();
            let written = serde_json::to_value(&detailed).unwrap();
            let written = written.as_array().unwrap();
            assert_eq!(written.len(), values.len());
            // Fields that came with a later version are null, or an empty list.
            let mut later = std::collections::BTreeSet::new();
            for (written, value) in written.iter().zip(&values) {
                let (written, value) = (written.as_object().unwrap(), value.as_object().unwrap());
                for (name, field) in written {
                    match value.get(name) {
                        Some(before) => assert_eq!(field, before, "{name}"),
                        None => {
                            let is_empty = field.as_array().is_some_and(Vec::is_empty);
                            assert!(field.is_null() || is_empty, "{name}: {field}");
                            later.insert(name.clone());
                        }
                    }
                }
                assert!(value.keys().all(|name| written.contains_key(name)));
            }
            let written = serde_json::to_string_pretty(&detailed).unwrap();
            let of_then = |name: &&str| !later.contains(*name);
            let kept: Vec<&str> = fields(&written).into_iter().filter(of_then).collect();
            assert_eq!(kept, fields(text));
        }
    }

    #[test]
    fn what_the_emulator_took_is_no_time_of_a_device() {
        let text = r#"[{"schema": 2, "kernel": "naive", "family": "matmul", "source": "000",
            "element": "f32", "m": 8, "n": 8, "k": 8, "engine": "emulator", "device": "CPU",
            "ok": true, "samples": 2, "median_ms": 0.5, "gflops": 1.0, "times_ms": [0.4, 0.6]}]"#;
        let records = parse_run("old", text).unwrap();
        let record = &records[0];
        assert_eq!((record.median_ms, record.gflops), (None, None));
        assert_eq!(record.emulator_ms, Some(0.5));
        assert_eq!(record.samples_ms(), [0.4, 0.6]);
        assert!(record.times_ms.is_empty());
    }

    #[test]
    fn a_record_of_version_1_is_read() {
        let text = r#"[{"kernel": "naive", "family": "matmul", "source": "000", "element": "f32",
            "m": 8, "n": 8, "k": 8, "engine": "gpu", "device": "V100", "ok": true,
            "samples": 3, "median_ms": 0.5}]"#;
        let records: Vec<Record> = parse_run("old", text).unwrap();
        assert_eq!((records[0].schema, records[0].median_ms), (1, Some(0.5)));
        assert!(records[0].times_ms.is_empty() && records[0].driver.is_none());
    }
}

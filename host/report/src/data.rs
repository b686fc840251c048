//! What a report is made of: results as the other commands wrote them.

use crate::read::{self, Kind};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use warpladder::device::DeviceProperties;
use warpladder::engine::EngineKind;
use warpladder_lab::compare::PeerComparison;
use warpladder_lab::predict::device_of;
use warpladder_lab::reproduce::Row;
use warpladder_lab::results::{self, ResultFile};
use warpladder_lab::run::{Record, read_records};
use warpladder_lab::sweep::Sweep;
use warpladder_models::Bound;
use warpladder_models::devices::{self, DeviceError, DeviceModel, Measured};
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
    #[error(
        "{name}: {error}: give files that `warpladder run --json` wrote, or compare, sweep, \
         reproduce, calibrate or devices"
    )]
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
    /// A GPU to predict for, where one was measured.
    #[error("{0} was measured, and is what is predicted: leave out --device")]
    Measured(String),
    /// No such GPU in the table.
    #[error(transparent)]
    Unknown(#[from] DeviceError),
}

/// A prediction of one kernel at one size: a row of `predict.json`.
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
    /// Measured time, in milliseconds, where a measurement stands beside it.
    #[serde(default)]
    pub measured_ms: Option<f64>,
    /// Predicted time, in milliseconds.
    pub predicted_ms: f64,
    /// What takes longest.
    pub bound: Bound,
}

/// Everything that a report shows.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Where the measurements are from, in words.
    pub origin: String,
    /// Whether these are the results that ship with the program, and not the user's own.
    pub is_shipped: bool,
    /// Files that do not hold all that was asked for, since their run was interrupted.
    pub incomplete: Vec<String>,
    /// What ran. Of runs on the emulator there are no times: see [`Data::is_emulated`].
    pub measured: Vec<Record>,
    /// The device, where it is known.
    pub device: Option<DeviceProperties>,
    /// The GPU that is predicted where none was measured; an H200 where none is given.
    pub target: Option<&'static DeviceModel>,
    /// Predictions for this device.
    pub predicted: Vec<Predicted>,
    /// The sources' tables on this device.
    pub reproduced: Vec<Row>,
    /// Kernels beside their peers on this device.
    pub compared: Vec<PeerComparison>,
    /// Sweeps on this device.
    pub sweeps: Vec<Sweep>,
    /// What `warpladder calibrate` measured.
    pub calibrated: Option<Measured>,
}

/// The GPU that is predicted where nothing says which.
const PREDICTED: &str = "H200";

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
        let sweeps = [
            ("results/h200/sweep-add_one.json", h200::SWEEP_ADD_ONE),
            ("results/h200/sweep-matvec_lcs.json", h200::SWEEP_MATVEC_LCS),
            (
                "results/h200/sweep-matvec_interleaved.json",
                h200::SWEEP_MATVEC_INTERLEAVED,
            ),
            (
                "results/h200/sweep-matvec_thread_per_element.json",
                h200::SWEEP_MATVEC_THREAD_PER_ELEMENT,
            ),
        ];
        let sweeps: Vec<Vec<Sweep>> = sweeps
            .into_iter()
            .map(|(name, text)| parse(name, text))
            .collect::<Result<_, _>>()?;
        Ok(Data {
            origin: "results/h200, which ships with the program".to_owned(),
            is_shipped: true,
            measured,
            device: devices.into_iter().next(),
            predicted: shipped_predictions()?,
            reproduced: parse("results/h200/reproduce.json", h200::REPRODUCE)?,
            compared: compared.concat(),
            sweeps: sweeps.concat(),
            ..Data::default()
        })
    }

    /// The results of these files, and of nothing else. `target` is the GPU that is predicted where
    /// the files measure none.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn from_files(paths: &[PathBuf], target: Option<&str>) -> Result<Self, DataError> {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let mut data = Data {
            origin: names.join(", "),
            ..Data::default()
        };
        for (path, name) in paths.iter().zip(&names) {
            let text = std::fs::read_to_string(path).map_err(|error| DataError::File {
                path: path.clone(),
                error,
            })?;
            let content = |error| DataError::Content {
                name: name.clone(),
                error,
            };
            let file = ResultFile::parse(&text).map_err(content)?;
            if file.values().is_empty() {
                return Err(DataError::Empty(path.clone()));
            }
            if !file.complete {
                data.incomplete.push(name.clone());
            }
            for record in file.records().map_err(content)? {
                data.add(record).map_err(content)?;
            }
        }
        data.refuse_several_devices()?;
        if let Some(name) = target {
            data.target = Some(devices::find(name)?);
            if let (false, Some(measured)) = (data.is_emulated(), data.device_name()) {
                return Err(DataError::Measured(measured.to_owned()));
            }
        }
        data.predicted = data.shipped_predictions_of_the_model();
        Ok(data)
    }

    fn add(&mut self, value: serde_json::Value) -> Result<(), serde_json::Error> {
        fn to<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, serde_json::Error> {
            serde_json::from_value(value)
        }
        match read::kind(&value)? {
            Kind::Run => {
                let record: Record = to(value)?;
                self.measured.push(record.up_to_date());
            }
            Kind::Compare => self.compared.push(to(value)?),
            Kind::Sweep => self.sweeps.push(to(value)?),
            Kind::Reproduce => self.reproduced.push(to(value)?),
            Kind::Calibrate => self.calibrated = Some(to(value)?),
            Kind::Devices => self.device = Some(to(value)?),
        }
        Ok(())
    }

    /// The devices that the results were measured on; of the emulator, that it was the emulator.
    fn devices(&self) -> impl Iterator<Item = &str> {
        fn of(engine: EngineKind, device: &str) -> Option<&str> {
            match engine {
                EngineKind::Cpu => None,
                EngineKind::Gpu => Some(device),
                EngineKind::Emulator => Some("the emulator"),
            }
        }
        let records = self.measured.iter();
        let records = records.filter_map(|record| of(record.engine, &record.device));
        let rows = self.reproduced.iter();
        let rows = rows.filter_map(|row| of(row.engine, &row.device));
        let compared = self.compared.iter().map(|record| &*record.device);
        let swept = self.sweeps.iter().filter(|sweep| is_measured(sweep));
        let swept = swept.map(|sweep| &*sweep.device);
        let calibrated = self.calibrated.iter().map(|measured| &*measured.device);
        let queried = self.device.iter().map(|device| &*device.name);
        records
            .chain(rows)
            .chain(compared)
            .chain(swept)
            .chain(calibrated)
            .chain(queried)
    }

    fn refuse_several_devices(&self) -> Result<(), DataError> {
        let mut devices = self.devices();
        match devices.next() {
            None => Ok(()),
            Some(one) => match devices.find(|other| *other != one) {
                None => Ok(()),
                Some(other) => Err(DataError::Devices {
                    one: one.to_owned(),
                    other: other.to_owned(),
                }),
            },
        }
    }

    /// Whether no GPU was measured, and kernels ran on the emulator: it counts what they do, and
    /// its own times say nothing of a GPU.
    pub fn is_emulated(&self) -> bool {
        self.devices().any(|device| device == "the emulator")
    }

    /// The name of the GPU that was measured.
    pub fn device_name(&self) -> Option<&str> {
        self.devices().find(|device| *device != "the emulator")
    }

    /// The GPU as the models know it: that which was measured, else that which is predicted.
    /// `None` where the table has no such GPU and no query of it is among the results.
    pub fn model(&self) -> Option<DeviceModel> {
        let device = if self.is_emulated() {
            self.target
                .or_else(|| devices::find(PREDICTED).ok())?
                .clone()
        } else {
            let row = devices::named(self.device_name()?);
            match (row, &self.device) {
                (Some(row), None) => row.clone(),
                (Some(row), Some(queried))
                    if row.multiprocessors.value == queried.multiprocessors =>
                {
                    row.clone()
                }
                (_, Some(queried)) => device_of(queried),
                (None, None) => return None,
            }
        };
        Some(match &self.calibrated {
            Some(measured) => device.calibrated(measured),
            None => device,
        })
    }

    /// The predictions that ship, where they are for the GPU of this report.
    fn shipped_predictions_of_the_model(&self) -> Vec<Predicted> {
        // What was calibrated changes what is predicted.
        let ships =
            self.calibrated.is_none() && self.model().as_ref() == devices::find(PREDICTED).ok();
        match ships {
            true => shipped_predictions().unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// The prediction for a kernel at a size.
    pub fn prediction_of(
        &self,
        kernel: &str,
        (m, n, k): (u32, u32, Option<u32>),
    ) -> Option<&Predicted> {
        self.predicted.iter().find(|predicted| {
            predicted.kernel == kernel && (predicted.m, predicted.n, predicted.k) == (m, n, k)
        })
    }

    /// The prediction for a measurement on a GPU.
    pub fn prediction(&self, measured: &Record) -> Option<&Predicted> {
        let size = (measured.m, measured.n, measured.k);
        (measured.engine == EngineKind::Gpu)
            .then(|| self.prediction_of(&measured.kernel, size))
            .flatten()
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

/// Whether a sweep has a measured point.
pub fn is_measured(sweep: &Sweep) -> bool {
    sweep.points.iter().any(|point| point.measured.is_some())
}

fn shipped_predictions() -> Result<Vec<Predicted>, DataError> {
    parse("results/h200/predict.json", h200::PREDICT)
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
                // What is said of the step from another rung comes from the ladder of the run.
                for (name, field) in written.iter().filter(|(name, _)| *name != "step") {
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
            let of_record: Vec<String> = match written.first().and_then(|first| first.as_object()) {
                Some(first) => first.keys().cloned().collect(),
                None => Vec::new(),
            };
            let written = serde_json::to_string_pretty(&detailed).unwrap();
            let of_then = |name: &&str| !later.contains(*name);
            let kept: Vec<&str> = fields(&written).into_iter().filter(of_then).collect();
            // Newer files have an envelope around the records.
            let start = text
                .find("\"records\":")
                .map_or(0, |at| at + "\"records\":".len());
            let shipped: Vec<&str> = fields(&text[start..])
                .into_iter()
                .filter(|name| of_record.iter().any(|field| field == name))
                .collect();
            let differs = kept
                .iter()
                .zip(&shipped)
                .find(|(kept, shipped)| kept != shipped);
            assert_eq!(differs, None, "written, shipped");
            assert_eq!(kept.len(), shipped.len());
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

    #[test]
    fn what_a_gpu_measured_is_that_of_its_own_files_alone() {
        let record = r#"{"kernel": "naive", "family": "matmul", "source": "000", "element": "f32",
            "m": 8, "n": 8, "k": 8, "engine": "gpu", "device": "NVIDIA H200", "ok": true,
            "samples": 3, "median_ms": 0.5}"#;
        let mut data = Data::default();
        data.add(serde_json::from_str(record).unwrap()).unwrap();
        assert_eq!(data.device_name(), Some("NVIDIA H200"));
        assert!(!data.is_emulated() && data.compared.is_empty() && data.reproduced.is_empty());
        assert_eq!(data.model().unwrap().name, "H200");
        // The emulator's times are not kept.
        let emulated = record.replace("\"gpu\"", "\"emulator\"");
        let mut data = Data::default();
        data.add(serde_json::from_str(&emulated).unwrap()).unwrap();
        assert!(data.is_emulated() && data.device_name().is_none());
        assert_eq!(data.measured[0].median_ms, None);
    }
}

//! What a page shows: results, with what is counted and predicted for them.

use crate::counted::{Counted, count};
use crate::data::{Data, Predicted};
use crate::ladders;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use warpladder::engine::EngineKind;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::predict::forecast;
use warpladder_lab::problem::Shape;
use warpladder_models::devices::DeviceModel;

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Content {
    /// The results.
    pub data: Data,
    /// The GPU as the models know it.
    pub model: Option<DeviceModel>,
    /// What the emulator counted, by kernel.
    pub counted: HashMap<String, Counted>,
    /// Kernels that cannot be predicted, with the reason.
    pub refused: HashMap<String, String>,
}

/// Seed of the inputs: counts do not depend on it.
const SEED: u64 = 1;

impl Content {
    /// Counts the kernels of these results on the emulator, and predicts those of
    /// [`Content::to_predict`].
    ///
    /// `each` is called with every kernel that is done.
    pub fn new(mut data: Data, each: &(dyn Fn(&'static Rung) + Sync)) -> Self {
        let counted = count(&Content::to_count(&data), each);
        let model = data.model();
        let mut refused = HashMap::new();
        if let Some(device) = &model {
            let made: Vec<_> = Content::to_predict(&data)
                .into_par_iter()
                .map(|(rung, shape)| {
                    let made = predict(device, rung, shape);
                    each(rung);
                    (rung, made)
                })
                .collect();
            for (rung, made) in made {
                match made {
                    Ok(predicted) => data.predicted.push(predicted),
                    Err(reason) => _ = refused.insert(rung.name.to_owned(), reason),
                }
            }
        }
        Content {
            data,
            model,
            counted,
            refused,
        }
    }

    /// The kernels of these results: each is counted.
    pub fn to_count(data: &Data) -> Vec<&'static Rung> {
        let measured = data.measured.iter();
        let mut rungs: Vec<&'static Rung> = measured
            .filter_map(|measured| catalogue::find(&measured.kernel))
            .collect();
        let mut seen = HashSet::new();
        rungs.retain(|rung| seen.insert(rung.name));
        rungs
    }

    /// The kernels, with their sizes, whose predictions are not among the results: they are made
    /// for the page, which takes about a second of a core for each.
    pub fn to_predict(data: &Data) -> Vec<(&'static Rung, Shape)> {
        let mut wanted: Vec<(&'static Rung, Shape)> = Vec::new();
        if data.is_shipped || data.model().is_none() {
            return wanted;
        }
        for record in &data.measured {
            let Some(rung) = catalogue::find(&record.kernel) else {
                continue;
            };
            let shape = ladders::predicted_shape(record, rung);
            let key = ladders::key(rung, shape);
            let is_known = data.prediction_of(rung.name, key).is_some()
                || wanted.iter().any(|(other, shape)| {
                    (other.name, ladders::key(other, *shape)) == (rung.name, key)
                });
            if record.engine != EngineKind::Cpu && !is_known {
                wanted.push((rung, shape));
            }
        }
        wanted
    }

    /// The GPU that is measured or predicted, as the page calls it.
    pub fn device(&self) -> Option<&str> {
        let model = self.model.as_ref().map(|model| &*model.name);
        self.data.device_name().or(model)
    }
}

fn predict(device: &DeviceModel, rung: &'static Rung, shape: Shape) -> Result<Predicted, String> {
    let forecast = forecast(&EmulatorEngine::new(), device, rung, shape, SEED);
    let forecast = forecast.map_err(|error| error.to_string())?;
    let (m, n, k) = ladders::key(rung, shape);
    Ok(Predicted {
        kernel: rung.name.to_owned(),
        m,
        n,
        k,
        measured_ms: None,
        predicted_ms: forecast.seconds() * 1e3,
        bound: forecast.longest().prediction.bound,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_kernel_that_is_counted_or_predicted_is_told() {
        let mut data = Data::shipped().unwrap();
        data.measured
            .retain(|record| ["copy", "transpose_padded"].contains(&record.kernel.as_str()));
        // Nothing is predicted for results that ship.
        data.is_shipped = false;
        data.predicted.clear();
        let kernels = Content::to_count(&data).len();
        let predicted = Content::to_predict(&data).len();
        assert!(kernels == 2 && predicted >= 2, "{kernels} {predicted}");
        let told = AtomicUsize::new(0);
        let pieces = Report::pieces(&data);
        Report::with_progress(data, &|_| _ = told.fetch_add(1, Ordering::Relaxed));
        let all = kernels + predicted;
        assert_eq!((told.into_inner(), pieces), (all, all));
    }
}

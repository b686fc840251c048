//! One page with everything that was measured, predicted and counted: `warpladder report`.
//!
//! The page is a single HTML file without fonts, pictures or scripts from elsewhere; its own script
//! filters, sorts and compares kernels, and the page reads without it. It is made from saved
//! results, so it needs no GPU; what each line of a kernel does is counted on the emulator while it
//! is made.

mod counted;
mod curves;
pub mod data;
pub mod explain;
mod facts;
mod kernel;
mod kernels;
mod ladders;
pub mod numbers;
mod page;
pub mod plot;
mod read;
mod sources;
mod sweep;

pub use counted::{Counted, count};
pub use data::{Data, DataError};
pub use sweep::plot as sweep_plot;

use crate::data::Predicted;
use crate::plot::{DrawError, Plot};
use rayon::prelude::*;
use std::collections::HashMap;
use warpladder::engine::EngineKind;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{self, Rung};
use warpladder_lab::predict::forecast;
use warpladder_lab::problem::Shape;
use warpladder_models::devices::Device;

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// The results.
    data: Data,
    /// The GPU as the models know it.
    model: Option<Device>,
    /// What the emulator counted, by kernel.
    counted: HashMap<String, Counted>,
    /// Kernels that cannot be predicted, with the reason.
    refused: HashMap<String, String>,
}

/// Seed of the inputs: counts do not depend on it.
const SEED: u64 = 1;

impl Report {
    /// Counts the kernels of these results on the emulator, and predicts those of
    /// [`Report::to_predict`].
    pub fn new(mut data: Data) -> Self {
        let measured = data.measured.iter();
        let mut rungs: Vec<&'static Rung> = measured
            .filter_map(|measured| catalogue::find(&measured.kernel))
            .collect();
        let mut seen = std::collections::HashSet::new();
        rungs.retain(|rung| seen.insert(rung.name));
        let counted = count(&rungs);
        let model = data.model();
        let mut refused = HashMap::new();
        if let Some(device) = &model {
            let made: Vec<_> = Report::to_predict(&data)
                .into_par_iter()
                .map(|(rung, shape)| (rung, shape, predict(device, rung, shape)))
                .collect();
            for (rung, _, made) in made {
                match made {
                    Ok(predicted) => data.predicted.push(predicted),
                    Err(reason) => _ = refused.insert(rung.name.to_owned(), reason),
                }
            }
        }
        Report {
            data,
            model,
            counted,
            refused,
        }
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

    /// All plots, in the order of the page.
    pub fn plots(&self) -> Vec<Plot> {
        let mut plots = self.ladder_plots();
        plots.extend(curves::roofline(
            &self.data,
            self.model.as_ref(),
            &self.counted,
        ));
        plots.extend(curves::sizes(&self.data));
        plots.extend(self.data.sweeps.iter().map(sweep::plot));
        plots
    }

    fn ladder_plots(&self) -> Vec<Plot> {
        let ladders = ladders::ladders(&self.data, self.model.as_ref());
        ladders
            .iter()
            .map(|ladder| ladder.plot(self.device()))
            .collect()
    }

    /// The GPU that is measured or predicted, as the page calls it.
    fn device(&self) -> Option<&str> {
        let model = self.model.as_ref().map(|model| &*model.name);
        self.data.device_name().or(model)
    }

    /// The page.
    ///
    /// # Errors
    /// Those of the plots.
    pub fn html(&self) -> Result<String, DrawError> {
        page::html(self)
    }
}

fn predict(device: &Device, rung: &'static Rung, shape: Shape) -> Result<Predicted, String> {
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

//! One rung on one page: what it does, its source with counters, where it stands, and what would
//! help.
//!
//! Everything is computed: counts by the emulator at a small size, times by
//! [`predict`](warpladder_lab::predict) at any. An [`Explanation`] serialises, [`page()`] writes it
//! for people, as Markdown, and [`terminal()`] lays that out for a terminal.

mod change;
mod chapter;
mod levels;
mod measured;
mod notes;
mod page;
mod terminal;

pub use change::{Change, OtherRung};
pub use chapter::Chapter;
pub use levels::LevelUse;
pub use measured::measured_ms;
pub use notes::Note;
pub use page::page;
pub use terminal::terminal;
pub use warpladder_lab::profile::{LineCounters, SourceFile, SourceLine};

use ptx_emulator::counters::Counts;
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use warpladder::device::ComputeCapability;
use warpladder::element::ElementType;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{Family, Rung};
use warpladder_lab::predict::{
    Forecast, ForecastError, LaunchForecast, forecast, is_older_than_the_ptx,
};
use warpladder_lab::problem::Shape;
use warpladder_lab::profile::{Measurement, Profile, profile};
use warpladder_lab::run::{RunError, check_shape, preflight};
use warpladder_models::Bound;
use warpladder_models::devices::DeviceModel;
use warpladder_models::occupancy::{Launch, Occupancy};
use warpladder_models::predict::BoundTime;

/// A rung, explained. Sizes are in elements, times in milliseconds unless their names say
/// otherwise.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Explanation {
    /// Name of the rung.
    pub kernel: &'static str,
    /// The rung that runs, where the kernel only chooses one; null elsewhere.
    pub ran: Option<&'static str>,
    /// Its family.
    pub family: Family,
    /// Element type.
    pub element: ElementType,
    /// The source documents that it is from, by number.
    pub source: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// The file with its Rust code, where the source tree is there.
    pub file: Option<String>,
    /// What that file says of it.
    pub notes: Vec<Note>,
    /// The GPU.
    pub device: String,
    /// The compute capability for which the kernel would have to be compiled, where the GPU runs
    /// none of the PTX that ships; null elsewhere.
    pub compiled_for: Option<ComputeCapability>,
    /// Rows of a product's output, or of a transpose's input. One-dimensional problems have m · n
    /// elements.
    pub m: u32,
    /// Columns of the same.
    pub n: u32,
    /// The dimension that a product sums over, or 16 times the rounds of the FMA chains; null
    /// elsewhere.
    pub k: Option<u32>,
    /// Predicted time.
    pub predicted_ms: f64,
    /// Measured time, where a measurement of this GPU and size is kept.
    pub measured_ms: Option<f64>,
    /// Predicted 10⁹ floating-point operations per second; null where there are none.
    pub gflops: Option<f64>,
    /// Predicted 10⁹ bytes per second: every input read once, the output written once.
    pub gbs: f64,
    /// What takes longest, in the launch that does.
    pub bound: Bound,
    /// The launches, one after the other.
    pub launches: Vec<LaunchPart>,
    /// What was counted.
    pub counted: Counted,
    /// The source of the launch that was counted.
    pub listing: Vec<SourceFile>,
    /// The chapter of the book on it; null without the source tree.
    pub chapter: Option<Chapter>,
    /// The one change that would help most.
    pub change: Change,
    /// The fastest rung that computes the same, at this size on this GPU, by the same predictions;
    /// null where that is this one.
    pub best: Option<OtherRung>,
}

/// A launch of a rung.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LaunchPart {
    /// The PTX entry.
    pub entry: &'static str,
    /// Predicted time.
    pub ms: f64,
    /// What takes longest.
    pub bound: Bound,
    /// What a multiprocessor is asked for.
    pub launch: Launch,
    /// How full it is, and what keeps the next block out.
    pub occupancy: Occupancy,
    /// What each bound alone takes, in seconds, the longest first.
    pub times: Vec<BoundTime>,
    /// Bounds with work whose rate is not known for this device.
    pub unknown: Vec<Bound>,
    /// Peak of the units that do its arithmetic, in GFLOP/s; null where it has none or the peak is
    /// not known.
    pub peak_gflops: Option<f64>,
    /// How it uses each level of the memory, the nearest first.
    pub levels: Vec<LevelUse>,
}

/// Counts at a small size.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Counted {
    /// The PTX entry.
    pub entry: String,
    /// Extents of the problem.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// See [`Explanation::k`].
    pub k: Option<u32>,
    /// What it did. Units stand with the fields, in the documentation of
    /// [`ptx_emulator::counters`].
    pub total: Counts,
    /// Lanes per warp instruction, at most 32; null where nothing ran.
    pub average_active_lanes: Option<f64>,
    /// Sectors of 32 bytes that a load or store of global memory touches.
    pub sectors_per_request: Option<f64>,
    /// Bytes asked for over bytes of these sectors: more than 1 where lanes ask for the same.
    pub sector_use: Option<f64>,
    /// Passes of shared memory over those without bank conflicts.
    pub wavefronts_per_ideal: Option<f64>,
}

/// Why a rung is not explained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// It cannot be predicted.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// It cannot be counted.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Explains rungs at one size on one device, and remembers what it has predicted.
pub struct Explainer {
    device: DeviceModel,
    shape: Shape,
    emulator: EmulatorEngine,
    forecasts: RefCell<HashMap<&'static str, Rc<Forecast>>>,
}

/// Seed of the inputs: counts do not depend on it.
const SEED: u64 = 1;

/// The extent at which a rung is counted, if it takes it and is asked for a larger one: all take
/// it.
const COUNTED: u32 = 256;

impl Explainer {
    /// Nothing is run yet.
    pub fn new(device: DeviceModel, shape: Shape) -> Self {
        Explainer {
            device,
            shape,
            emulator: EmulatorEngine::new(),
            forecasts: RefCell::default(),
        }
    }

    /// Explains a rung.
    ///
    /// # Errors
    /// See [`ExplainError`]: where it takes no such size, is a function of the host, or cannot be
    /// predicted.
    pub fn explain(&self, rung: &'static Rung) -> Result<Explanation, ExplainError> {
        self.explain_with_progress(rung, &|_| {})
    }

    /// The same; `each` is called from any thread, with every one of [`Explainer::to_predict`] that
    /// is done.
    ///
    /// # Errors
    /// See [`ExplainError`].
    pub fn explain_with_progress(
        &self,
        rung: &'static Rung,
        each: &(dyn Fn(&'static Rung) + Sync),
    ) -> Result<Explanation, ExplainError> {
        let Explainer { device, shape, .. } = self;
        let forecast = self.forecast(rung)?;
        each(rung);
        self.forecast_all(&change::comparable(self, rung), each);
        let runs = rung.resolve(*shape);
        let admitted = preflight(&self.emulator, rung, self.counted(rung))?;
        let profile = profile(&self.emulator, &admitted, SEED)?;
        let counters = profile.main();
        let measurement = Measurement::from(counters);
        let entry = counters.kernel().map_or("", |kernel| kernel.name());
        let counted = counted(entry, &profile, &measurement);
        let (file, notes) = notes::notes(entry, runs.name);
        Ok(Explanation {
            kernel: rung.name,
            ran: (runs.name != rung.name).then_some(runs.name),
            family: rung.family,
            element: rung.element,
            source: rung.source,
            summary: rung.summary,
            listing: warpladder_lab::profile::listing(&measurement, file.as_deref()),
            notes,
            device: device.name.to_string(),
            compiled_for: is_older_than_the_ptx(device)
                .then(|| device.architecture.compute_capability.into()),
            m: shape.m,
            n: shape.n,
            k: rung.operation.uses_k().then_some(shape.k),
            predicted_ms: forecast.seconds() * 1e3,
            measured_ms: measured_ms(device, rung, *shape),
            gflops: forecast.gflops(),
            gbs: forecast.gbs(),
            bound: forecast.longest().prediction.bound,
            launches: forecast
                .launches
                .iter()
                .map(|launch| self.part(runs, launch))
                .collect(),
            chapter: chapter::chapter(rung.name, file.as_deref()),
            change: change::change(self, rung, &forecast, &counted),
            best: change::best(self, rung, &forecast),
            file,
            counted,
        })
    }

    /// The kernels that are predicted to explain one: itself, and those that compute the same.
    pub fn to_predict(&self, rung: &'static Rung) -> Vec<&'static Rung> {
        let others = change::comparable(self, rung);
        std::iter::once(rung).chain(others).collect()
    }

    /// The size at which everything is predicted.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The prediction for a rung, made when it is asked for first.
    fn forecast(&self, rung: &'static Rung) -> Result<Rc<Forecast>, ForecastError> {
        if let Some(forecast) = self.forecasts.borrow().get(rung.name) {
            return Ok(Rc::clone(forecast));
        }
        let made = forecast(&self.emulator, &self.device, rung, self.shape, SEED)?;
        let made = Rc::new(made);
        let mut forecasts = self.forecasts.borrow_mut();
        forecasts.insert(rung.name, Rc::clone(&made));
        Ok(made)
    }

    /// Makes the predictions for these rungs, as many at a time as there are cores.
    fn forecast_all(&self, rungs: &[&'static Rung], each: &(dyn Fn(&'static Rung) + Sync)) {
        let missing: Vec<&'static Rung> = {
            let forecasts = self.forecasts.borrow();
            let known = |rung: &&&Rung| !forecasts.contains_key(rung.name);
            rungs.iter().filter(known).copied().collect()
        };
        let Explainer { device, shape, .. } = self;
        let made: Vec<_> = missing
            .par_iter()
            .filter_map(|rung| {
                let made = forecast(&EmulatorEngine::new(), device, rung, *shape, SEED);
                each(rung);
                Some((rung.name, made.ok()?))
            })
            .collect();
        let made = made.into_iter().map(|(name, made)| (name, Rc::new(made)));
        self.forecasts.borrow_mut().extend(made);
    }

    /// The size at which a rung is counted: what is asked for where that is small.
    fn counted(&self, rung: &Rung) -> Shape {
        let Shape { m, n, k } = self.shape;
        let [m, n, k] = [m, n, k].map(|extent| extent.min(COUNTED));
        let small = Shape { m, n, k };
        match check_shape(rung, small) {
            Ok(()) => small,
            Err(_) => Shape {
                m: COUNTED,
                n: COUNTED,
                k: COUNTED,
            },
        }
    }

    fn part(&self, rung: &Rung, forecast: &LaunchForecast) -> LaunchPart {
        let prediction = &forecast.prediction;
        let peak_gflops = levels::peak_gflops(&self.device, rung, &forecast.work);
        let flops = peak_gflops.map(|_| rung.operation.flops(self.shape));
        LaunchPart {
            entry: forecast.entry,
            ms: prediction.seconds * 1e3,
            bound: prediction.bound,
            launch: forecast.launch,
            occupancy: prediction.occupancy,
            times: prediction.times.clone(),
            unknown: prediction.unknown.clone(),
            peak_gflops,
            levels: levels::levels(&self.device, &forecast.work, flops.zip(peak_gflops)),
        }
    }
}

fn counted(entry: &str, profile: &Profile, measurement: &Measurement) -> Counted {
    let total = measurement.total;
    let global = total.global();
    let moved = global.bytes_moved();
    let shape = profile.shape;
    Counted {
        entry: entry.to_owned(),
        m: shape.m,
        n: shape.n,
        k: profile.rung.operation.uses_k().then_some(shape.k),
        total,
        average_active_lanes: measurement.average_active_lanes,
        sectors_per_request: global.sectors_per_request(),
        sector_use: (moved > 0).then(|| global.bytes as f64 / moved as f64),
        wavefronts_per_ideal: total.shared().conflict_ratio(),
    }
}

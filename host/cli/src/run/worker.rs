//! The work of a run: on a thread of its own, case by case.

use super::cases::RunCase;
use super::prediction;
use crate::interrupt::Results;
use std::time::Instant;
use warpladder::device::ComputeCapability;
use warpladder::engine::Engine;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder_lab::catalogue::{Implementation, Rung};
use warpladder_lab::ladder::{self, Tally};
use warpladder_lab::predict;
use warpladder_lab::run::{Predicted, Problems, Record, Sampling};
use warpladder_models::Bound;
use warpladder_models::devices::DeviceModel;

/// What the work hands over.
pub(super) enum Progress {
    /// A case begins.
    Begun(usize),
    /// A case is done; with what is to be said of its prediction.
    Done(usize, Box<Record>, Option<Caveat>),
    /// What a case does to the machine.
    Counted(usize, Tally),
}

/// What is to be said of a prediction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Caveat {
    /// There is none, for this reason.
    Refused(String),
    /// It is without these, whose rates are not known of the GPU, and so is the least time.
    Least(Vec<Bound>),
    /// It is so short that what a launch costs, which is not known of the GPU, would be much of it.
    Short,
}

impl Caveat {
    fn of(predicted: &Predicted) -> Option<Self> {
        const LAUNCHES_ARE_MUCH_OF_MS: f64 = 0.05;
        if !predicted.unknown.is_empty() {
            return Some(Caveat::Least(predicted.unknown.clone()));
        }
        let is_short = !predicted.has_launch && predicted.ms < LAUNCHES_ARE_MUCH_OF_MS;
        is_short.then_some(Caveat::Short)
    }
}

/// The work of a run.
pub(super) struct Work {
    pub engine: Box<dyn Engine>,
    pub cases: Vec<RunCase>,
    /// The GPU that is predicted.
    pub device: Option<DeviceModel>,
    /// The generation of GPUs whose kernels run, and are predicted.
    pub generation: Option<ComputeCapability>,
    /// The GPU that is measured.
    pub measured: Option<DeviceModel>,
    pub sampling: Sampling,
    /// When the whole run ends.
    pub deadline: Option<Instant>,
    pub seed: u64,
}

impl Work {
    pub(super) fn run(self, results: &Results<Progress>) -> anyhow::Result<()> {
        let emulator = EmulatorEngine::new();
        let mut problems = Problems::new(self.seed);
        for (index, case) in self.cases.iter().enumerate() {
            if results.hand(Progress::Begun(index)).is_break() {
                break;
            }
            let (predicted, caveat) = match &self.device {
                Some(device) if !case.admitted.is_on_host() => {
                    let asked = prediction::Asked {
                        rung: case.rung(),
                        shape: case.predicted,
                        generation: self.generation,
                    };
                    match prediction::predicted(&emulator, device, asked, self.seed) {
                        Ok(predicted) => {
                            let caveat = Caveat::of(&predicted);
                            (Some(predicted), caveat)
                        }
                        Err(refused) => (None, Some(Caveat::Refused(refused.to_string()))),
                    }
                }
                _ => (None, None),
            };
            let sampling = self.share(index);
            let mut record = problems.run(&*self.engine, &case.admitted, sampling)?;
            if let Some(predicted) = predicted {
                record.predicted(predicted);
            }
            if let (Some(device), Some(ms)) = (&self.measured, record.median_ms)
                && !case.admitted.is_on_host()
            {
                let (rung, shape) = (case.rung(), case.admitted.shape());
                record.roof_pct = predict::roof_pct(device, rung, shape, ms);
            }
            let done = Progress::Done(index, Box::new(record), caveat);
            if results.hand(done).is_break() {
                break;
            }
            // Counters explain steps, and cost nothing where there are none.
            let has_step = |other: &RunCase| is_step(other.rung(), case.rung());
            let others = self.cases.iter().filter(|other| has_step(other)).count();
            if others > 1 && !matches!(case.rung().implementation, Implementation::Cpu(_)) {
                let shape = case.admitted.shape();
                let tally = ladder::tally(&emulator, case.rung(), shape, self.seed)?;
                if results.hand(Progress::Counted(index, tally)).is_break() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// How a case is timed: of the time that is left, it gets an equal share.
    fn share(&self, index: usize) -> Sampling {
        let left = self.deadline.map(|deadline| {
            let cases = u32::try_from(self.cases.len() - index).unwrap_or(u32::MAX);
            deadline.saturating_duration_since(Instant::now()) / cases
        });
        let limit = match (self.sampling.time_limit, left) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (one, other) => one.or(other),
        };
        Sampling {
            time_limit: limit,
            ..self.sampling
        }
    }
}

/// Whether one rung can be a step over the other: they compute the same, on the same kind of
/// machine.
pub(super) fn is_step(one: &Rung, other: &Rung) -> bool {
    let is_on_host = |rung: &Rung| matches!(rung.implementation, Implementation::Cpu(_));
    let both_on_host = is_on_host(one) && is_on_host(other);
    one.is_comparable(other) || both_on_host && one.operation == other.operation
}

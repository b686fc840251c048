//! Runs the rungs of the tables, each once for a shape.

use super::group::{Group, Reference};
use crate::catalogue::{self, Rung};
use crate::problem::Shape;
use crate::profile::profile;
use crate::run::{self, Admitted, Problems, Record, RunError};
use ptx_emulator::counters::Counts;
use std::collections::HashMap;
use warpladder::check::Verdict;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::{Engine, EngineKind};
use warpladder::error::EngineError;

/// Where rungs run, and what they have given so far.
pub struct Bench<'e> {
    machine: Machine<'e>,
    size: Option<Shape>,
    seed: u64,
    reps: usize,
    problems: Problems,
    /// What the preflight admitted.
    admitted: HashMap<(&'static str, Shape), Admitted>,
    done: HashMap<(&'static str, Shape), RungMeasurement>,
}

/// What a rung is measured by.
#[derive(Clone, Copy)]
enum Machine<'e> {
    /// Time.
    Timed(&'e dyn Engine),
    /// Exact counts.
    Counted(&'e EmulatorEngine),
}

/// What one rung gave.
#[derive(Clone, Debug)]
pub(super) struct RungMeasurement {
    /// The catalogue's entry.
    pub rung: &'static Rung,
    /// The problem's size.
    pub shape: Shape,
    /// The engine that ran it.
    pub engine: EngineKind,
    /// Its device.
    pub device: String,
    /// Whether the output was right.
    pub ok: bool,
    /// What was wrong.
    pub complaint: Option<String>,
    /// Times or counts; none where the output was wrong.
    pub values: Option<Values>,
}

/// Times or counts.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Times(Box<Record>),
    Counts(Box<Counts>),
}

impl<'e> Bench<'e> {
    /// Times `reps` runs of each rung on `engine`. `size` takes the place of every table's own.
    pub fn timed(engine: &'e dyn Engine, size: Option<Shape>, seed: u64, reps: usize) -> Self {
        Bench::new(Machine::Timed(engine), size, seed, reps)
    }

    /// Counts one run of each rung on the emulator; products on the host are timed.
    pub fn counted(
        emulator: &'e EmulatorEngine,
        size: Option<Shape>,
        seed: u64,
        reps: usize,
    ) -> Self {
        Bench::new(Machine::Counted(emulator), size, seed, reps)
    }

    fn new(machine: Machine<'e>, size: Option<Shape>, seed: u64, reps: usize) -> Self {
        Bench {
            machine,
            size,
            seed,
            reps,
            problems: Problems::new(seed),
            admitted: HashMap::new(),
            done: HashMap::new(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &'e dyn Engine {
        match self.machine {
            Machine::Timed(engine) => engine,
            Machine::Counted(emulator) => emulator,
        }
    }

    /// Whether this group is counted here, and not timed.
    pub fn counts(&self, group: &Group) -> bool {
        matches!(self.machine, Machine::Counted(_)) && !group.counted.is_empty()
    }

    /// The problem of a group here.
    pub fn shape(&self, group: &Group) -> Shape {
        let counted = matches!(self.machine, Machine::Counted(_));
        group.size.shape(self.engine(), counted, self.size)
    }

    /// Refuses a group that cannot run here, before anything does.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn preflight(&mut self, group: &Group) -> Result<(), RunError> {
        for entry in group.entries {
            self.admit(super::rung(entry), self.shape(group))?;
        }
        match self.reference_rung(group) {
            Some((rung, shape)) => self.admit(rung, shape).map(|_| ()),
            None => Ok(()),
        }
    }

    /// What the preflight admitted: each is measured once.
    pub fn admitted(&self) -> impl Iterator<Item = &Admitted> {
        self.admitted.values()
    }

    /// Admits a rung, or remembers that it was admitted.
    fn admit(&mut self, rung: &'static Rung, shape: Shape) -> Result<Admitted, RunError> {
        if let Some(admitted) = self.admitted.get(&(rung.name, shape)) {
            return Ok(admitted.clone());
        }
        let admitted = run::preflight(self.engine(), rung, shape)?;
        self.admitted.insert((rung.name, shape), admitted.clone());
        Ok(admitted)
    }

    /// Measures a rung at the group's size, or remembers what it gave.
    pub(super) fn measure(
        &mut self,
        group: &Group,
        rung: &'static Rung,
    ) -> Result<RungMeasurement, RunError> {
        self.measure_at(rung, self.shape(group))
    }

    /// The record of the rung that a group's values are a share of; none where there is none or
    /// nothing is timed.
    pub(super) fn reference(&mut self, group: &Group) -> Result<Option<Record>, RunError> {
        let Some((rung, shape)) = self.reference_rung(group) else {
            return Ok(None);
        };
        match self.measure_at(rung, shape)?.values {
            Some(Values::Times(record)) => Ok(Some(*record)),
            _ => Ok(None),
        }
    }

    fn reference_rung(&self, group: &Group) -> Option<(&'static Rung, Shape)> {
        let Reference { rung, size } = group.reference.filter(|_| !self.counts(group))?;
        // Its own size always: a small problem would not show the machine's limit.
        Some((
            catalogue::find(rung)?,
            size.shape(self.engine(), false, None),
        ))
    }

    fn measure_at(
        &mut self,
        rung: &'static Rung,
        shape: Shape,
    ) -> Result<RungMeasurement, RunError> {
        if let Some(measured) = self.done.get(&(rung.name, shape)) {
            return Ok(measured.clone());
        }
        let admitted = self.admit(rung, shape)?;
        let measured = match self.machine {
            // Products on the host are timed everywhere.
            Machine::Counted(emulator) if !admitted.is_on_host() => {
                count(emulator, &admitted, self.seed)?
            }
            Machine::Counted(_) | Machine::Timed(_) => self.time(&admitted)?,
        };
        self.done.insert((rung.name, shape), measured.clone());
        Ok(measured)
    }

    fn time(&mut self, admitted: &Admitted) -> Result<RungMeasurement, RunError> {
        let record = self.problems.run(self.engine(), admitted, self.reps)?;
        Ok(RungMeasurement {
            rung: admitted.rung(),
            shape: admitted.shape(),
            engine: record.engine,
            device: record.device.clone(),
            ok: record.ok,
            complaint: record.complaint.clone(),
            values: record.ok.then(|| Values::Times(Box::new(record))),
        })
    }
}

/// Runs a kernel once on the emulator, checks its output and counts what it did.
///
/// # Errors
/// See [`RunError`]; a kernel that fails is no error but a failed check, as in `run`.
fn count(
    emulator: &EmulatorEngine,
    admitted: &Admitted,
    seed: u64,
) -> Result<RungMeasurement, RunError> {
    let (ok, complaint, counts) = match profile(emulator, admitted, seed) {
        Ok(profile) => {
            let Verdict { ok, complaint, .. } = profile.verdict;
            (ok, complaint, ok.then(|| profile.counters.total()))
        }
        Err(RunError::Engine(error @ EngineError::Launch { .. })) => {
            (false, Some(error.to_string()), None)
        }
        Err(error) => return Err(error),
    };
    Ok(RungMeasurement {
        rung: admitted.rung(),
        shape: admitted.shape(),
        engine: emulator.kind(),
        device: emulator.device_name().to_owned(),
        ok,
        complaint,
        values: counts.map(|counts| Values::Counts(Box::new(counts))),
    })
}

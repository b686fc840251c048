//! Stepping changes nothing: every rung writes the same under an observer that steps.

use crate::common::output;
use ptx_emulator::stepping::{Paused, Resume};
use ptx_emulator::{DEFAULT_INSTRUCTION_BUDGET, Event, Interest, Observer};
use rayon::prelude::*;
use test_sample::Sample;
use warpladder::engine::emulator::EmulatorEngine;
use warpladder::engine::observed::ObservedEngine;
use warpladder_lab::catalogue::{self, Implementation, Rung};
use warpladder_lab::sanitize::default_shape;

/// Pauses between two looks at everything.
const LOOK_EVERY: u64 = 1009;

/// Counts the pauses, and looks at all that there is to see in some of them.
#[derive(Default)]
struct Looks {
    pauses: u64,
    registers: usize,
}

impl Observer for Looks {
    const INTEREST: Interest = Interest::NONE;
    const STEPS: bool = true;

    fn fork(&self) -> Self {
        Looks::default()
    }

    fn join(&mut self, worker: Self) {
        self.pauses += worker.pauses;
        self.registers += worker.registers;
    }

    fn event(&mut self, _: Event<'_>) {}

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        self.pauses += 1;
        if self.pauses.is_multiple_of(LOOK_EVERY) {
            for rank in 0..paused.blocks().len() as u32 {
                paused.barriers(rank);
                for warp in 0..paused.warps() {
                    let groups = paused.groups(rank, warp);
                    let lanes = groups.iter().fold(0, |lanes, group| lanes | group.lanes);
                    assert_eq!(lanes, paused.live(rank, warp));
                    for group in &groups {
                        self.registers += paused.registers(rank, warp, group).len();
                    }
                }
            }
        }
        Resume::Run
    }
}

/// Runs a rung both ways; what differs.
fn difference(rung: &'static Rung) -> Option<String> {
    let shape = default_shape(rung);
    let plain = EmulatorEngine::limited(DEFAULT_INSTRUCTION_BUDGET);
    let expected = output::of_rung(&plain, rung, shape, 1);
    let stepped = EmulatorEngine::for_stepping(DEFAULT_INSTRUCTION_BUDGET);
    let engine = ObservedEngine::new(&stepped, Looks::default());
    let found = output::of_rung(&engine, rung, shape, 1);
    let looks = engine.into_observer();
    match (expected, found) {
        (Ok((expected, _)), Ok((found, verdict))) if expected == found && verdict.ok => {
            (looks.pauses == 0).then(|| format!("{}: it does not stop", rung.name))
        }
        (Ok(_), Ok(_)) => Some(format!("{}: other results", rung.name)),
        (expected, found) => Some(format!(
            "{}: {:?} and {:?}",
            rung.name,
            expected.err(),
            found.err()
        )),
    }
}

#[test]
fn every_rung_writes_the_same_when_it_is_stepped() {
    let rungs = catalogue::rungs();
    let rungs = rungs.filter(|rung| !matches!(rung.implementation, Implementation::Cpu(_)));
    let all: Vec<&'static Rung> = rungs.collect();
    let (sample, count) = (Sample::from_env(), all.len());
    let drawn = sample.draw(all, count.div_ceil(3), |rung| rung.name.to_owned());
    sample.report(drawn.len(), count, "rungs, stepped");
    let differences: Vec<String> = drawn
        .par_iter()
        .filter_map(|rung| difference(rung))
        .collect();
    assert!(differences.is_empty(), "{differences:#?}");
}
